import * as z from 'zod'
import { asCid, cidSchema, tipsetSchema, type LotusRpc, type Tipset } from './lotus-rpc.ts'

/** A message's outcome in the node's current branch. */
export interface Outcome {
  /** Height of the tipset that includes it. */
  height: number
  /** Its index among its tipset's messages, in order of execution. */
  position: number
  exitCode: number
  /** Base64, or null. */
  returned: string | null
  to: string
}

/** The executed messages of the node's branch, updated by `refresh`. */
export interface ChainView {
  /** Follows the node to its head, through reorgs too. */
  refresh(): Promise<void>
  /** The head's height. */
  height(): number
  /** The head's time, Unix seconds. */
  timeS(): number
  /** Undefined until the message is executed. */
  outcome(cid: string): Outcome | undefined
  /** The outcomes of all messages, in the chain's order. */
  outcomes(): IterableIterator<[cid: string, outcome: Outcome]>
}

/** A tipset, and its parents' messages, which are executed when the tipset is made. */
interface Known {
  key: string
  height: number
  timeS: number
  executed: string[]
}

const messagesSchema = z.array(z.object({ Cid: cidSchema, Message: z.object({ To: z.string() }) })).nullable()
const receiptsSchema = z.array(z.object({ ExitCode: z.number(), Return: z.string().nullable() })).nullable()

export function createChainView(rpc: LotusRpc): ChainView {
  const known: Known[] = []
  const outcomes = new Map<string, Outcome>()

  async function refresh(): Promise<void> {
    const path: Tipset[] = []
    let tipset = await rpc.call(tipsetSchema, 'ChainHead')
    for (;;) {
      forgetFrom(tipset.Height, keyOf(tipset))
      if (known.at(-1)?.key === keyOf(tipset)) break
      path.push(tipset)
      if (tipset.Height === 0) break
      const parents = tipset.Blocks[0]?.Parents ?? []
      tipset = await rpc.call(tipsetSchema, 'ChainGetTipSet', parents.map(asCid))
    }
    for (const one of path.reverse()) await learn(one)
  }

  /** Drops all tipsets above this height, and another tipset at it. */
  function forgetFrom(height: number, key: string): void {
    for (let last = known.at(-1); last !== undefined; last = known.at(-1)) {
      if (last.height < height || last.key === key) return
      for (const cid of last.executed) outcomes.delete(cid)
      known.pop()
    }
  }

  async function learn(tipset: Tipset): Promise<void> {
    const height = known.at(-1)?.height ?? 0
    const [block] = tipset.Cids
    if (block === undefined) throw new Error('a tipset without blocks')
    const messages = (await rpc.call(messagesSchema, 'ChainGetParentMessages', asCid(block))) ?? []
    const receipts =
      messages.length === 0
        ? []
        : ((await rpc.call(receiptsSchema, 'ChainGetParentReceipts', asCid(block))) ?? [])
    messages.forEach(({ Cid, Message }, position) => {
      const receipt = receipts[position]
      if (receipt === undefined) throw new Error(`the node has no receipt of ${Cid}`)
      const { ExitCode: exitCode, Return: returned } = receipt
      outcomes.set(Cid, { height, position, exitCode, returned, to: Message.To })
    })
    const executed = messages.map(({ Cid }) => Cid)
    const timeS = tipset.Blocks[0]?.Timestamp ?? 0
    known.push({ key: keyOf(tipset), height: tipset.Height, timeS, executed })
  }

  return {
    refresh,
    height: () => known.at(-1)?.height ?? 0,
    timeS: () => known.at(-1)?.timeS ?? 0,
    outcome: (cid) => outcomes.get(cid),
    outcomes: () => outcomes.entries(),
  }
}

function keyOf({ Cids }: Tipset): string {
  return Cids.join()
}
