import { HashedBlock } from '../../indexer/sources/filecoin/proof/hashed-block.ts'
import { parseCid } from '../../shared/filecoin/block-cid.ts'
import { receiptsRoot } from '../../shared/filecoin/receipt.ts'
import { cidText } from '../filecoin/chain/block.ts'
import { isJson, type Answer, type Fault, type Json, type Request, type Upstream } from './fault.ts'
import { named } from './lotus-lying.ts'

/** Returns the false receipts of a tipset, or null for the truth. */
export type ChangeReceipts = (receipts: Json[], height: number) => Json[] | null

interface MadeUp {
  child: Json
  receipts: Json[]
}

const CHILDREN = ['ChainHead', 'ChainGetTipSetAfterHeight'].map(named)
/** Fields of a receipt on every network today. */
const FIELDS = 4

/**
 * False receipts with a child that commits to them. Anyone can make up headers that hash, so nothing shows the lie before the
 * true child is read.
 */
export function madeUpChildren(change: ChangeReceipts): Fault {
  const made = new Map<string, MadeUp>()
  const trueOf = new Map<string, string>()

  async function answerOf(request: Request, answer: Answer, upstream: Upstream): Promise<Answer | null> {
    const { id, method, params } = request
    if (CHILDREN.includes(method)) {
      const child = isJson(answer.result) ? await makeUp(answer.result, upstream) : null
      return child === null ? null : { id, result: child }
    }
    const text = JSON.stringify(params)
    const asked = [...made.keys()].find((cid) => text.includes(cid))
    if (asked === undefined) return null
    if (method === named('ChainGetTipSet')) return { id, result: made.get(asked)?.child }
    if (method === named('ChainGetParentReceipts')) return { id, result: made.get(asked)?.receipts }
    const truly = text.replace(/bafy[a-z2-7]+/g, (cid) => trueOf.get(cid) ?? cid)
    return { id, result: await upstream.ask(method, ...(JSON.parse(truly) as unknown[])) }
  }

  async function makeUp(tipset: Json, upstream: Upstream): Promise<Json | null> {
    const [cids, blocks] = [tipset['Cids'] as { '/': string }[], tipset['Blocks'] as Json[]]
    const receipts = await upstream.ask(named('ChainGetParentReceipts'), cids[0])
    const changed = Array.isArray(receipts) ? change(receipts as Json[], Number(tipset['Height'])) : null
    if (changed === null) return null
    const root = { '/': cidText(receiptsRoot(changed.map(receiptOf), FIELDS)) }
    const others = blocks.map((block) => ({ ...block, ParentMessageReceipts: root }))
    const names = others.map((block) => cidText(new HashedBlock(block).cid ?? new Uint8Array()))
    const child = { ...tipset, Cids: names.map((name) => ({ '/': name })), Blocks: others }
    for (const [index, name] of names.entries()) {
      made.set(name, { child, receipts: changed })
      trueOf.set(name, cids[index]?.['/'] ?? '')
    }
    return child
  }

  return async (requests, truth, _isBatch, upstream) => {
    let lies = 0
    const answers: Answer[] = []
    for (const answer of await truth()) {
      const request = requests.find(({ id }) => id === answer.id)
      const lie = request === undefined ? null : await answerOf(request, answer, upstream)
      if (lie !== null) lies += 1
      answers.push(lie ?? answer)
    }
    return lies === 0 ? null : answers
  }
}

function receiptOf({
  ExitCode,
  Return,
  GasUsed,
  EventsRoot,
}: Json): Parameters<typeof receiptsRoot>[0][number] {
  return {
    exitCode: Number(ExitCode),
    returned: Buffer.from(typeof Return === 'string' ? Return : '', 'base64'),
    gasUsed: Number(GasUsed),
    eventsRoot: isJson(EventsRoot) ? parseCid(String(EventsRoot['/'])) : null,
  }
}
