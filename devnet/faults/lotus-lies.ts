import { isJson, Refusal, sometimes, type Fault, type FaultKinds, type Json, type Upstream } from './fault.ts'
import { lotusCertificateLies } from './lotus-certificate-lies.ts'
import { isFilled, lying, named, TIPSETS } from './lotus-lying.ts'
import { lotusProofLies } from './lotus-proof-lies.ts'

/** False but well-formed answers of a Filecoin node. */

const askNode = (upstream: Upstream, method: string, ...params: unknown[]): Promise<unknown> =>
  upstream.ask(named(method), ...params)
const heightOf = (tipset: unknown): number => Number(isJson(tipset) ? tipset['Height'] : NaN)

/** Answers from the node's state some epochs ago. */
function asOfEpochsAgo(epochs: number): Fault {
  const byHeight = ['ChainGetTipSetByHeight', 'ChainGetTipSetAfterHeight']
  return lying(['ChainHead', ...byHeight], async (result, { method, params: [height] }, upstream) => {
    const head = heightOf(await askNode(upstream, 'ChainHead'))
    const limit = head - epochs
    if (limit < 1) return undefined
    if (method === named('ChainHead')) return askNode(upstream, 'ChainGetTipSetByHeight', limit, [])
    return Math.max(Number(height), heightOf(result)) > limit
      ? new Refusal(
          1,
          `looking for tipset with height greater than start point, req: ${String(height)}, head: ${limit}`,
        )
      : undefined
  })
}

const headLies: FaultKinds = {
  'a replica that is behind': {
    seenBy: 'visible',
    make: ({ now, below }) => {
      const lag = 1 + below(8)
      return sometimes(0.3, asOfEpochsAgo(lag))({ now, below })
    },
  },
  'a head behind what is final': { seenBy: 'visible', make: sometimes(0.1, asOfEpochsAgo(50)) },
  'a final tipset above the head': {
    seenBy: 'visible',
    make: sometimes(
      0.1,
      lying(['ChainGetFinalizedTipSet'], async (_, _request, upstream) => {
        const head = await askNode(upstream, 'ChainHead')
        return isJson(head) ? atHeight(head, heightOf(head) + 9) : undefined
      }),
    ),
  },
  'a final tipset that moves back': {
    seenBy: 'visible',
    make: sometimes(
      0.2,
      lying(['ChainGetFinalizedTipSet'], (result, _, upstream) =>
        heightOf(result) > 5
          ? askNode(upstream, 'ChainGetTipSetByHeight', heightOf(result) - 5, [])
          : undefined,
      ),
    ),
  },
  'a final tipset of another branch': {
    seenBy: 'visible',
    make: sometimes(
      0.1,
      lying(['ChainGetFinalizedTipSet'], (result) =>
        isJson(result) ? withOtherCids(result, 'bafy2bzacebogus') : undefined,
      ),
    ),
  },
  'the head is called final': {
    seenBy: 'hidden',
    make: sometimes(
      0.05,
      lying(['ChainGetFinalizedTipSet'], (_, _request, upstream) => askNode(upstream, 'ChainHead')),
    ),
  },
  'another network': {
    seenBy: 'witness',
    make: sometimes(
      0.02,
      lying(['StateNetworkName'], () => 'mainnet'),
    ),
  },
  'no certificates of finality': {
    seenBy: 'visible',
    make: sometimes(
      0.2,
      lying(
        ['ChainGetFinalizedTipSet'],
        () => new Refusal(-32601, "method 'Filecoin.ChainGetFinalizedTipSet' not found"),
      ),
    ),
  },
}

function atHeight(tipset: Json, height: number): Json {
  const blocks = Array.isArray(tipset['Blocks']) ? (tipset['Blocks'] as Json[]) : []
  return { ...tipset, Height: height, Blocks: blocks.map((block) => ({ ...block, Height: height })) }
}

function withOtherCids(tipset: Json, cid: string): Json {
  const cids = Array.isArray(tipset['Cids']) ? tipset['Cids'] : []
  return { ...tipset, Cids: cids.map((_, index) => ({ '/': `${cid}${index}` })) }
}

const tipsetLies: FaultKinds = {
  'tipsets that are not there': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(TIPSETS, () => (now(0.02) ? new Refusal(1, 'ipld: could not find the block') : undefined)),
  },
  'an earlier tipset than asked for': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(['ChainGetTipSetByHeight', 'ChainGetTipSetAfterHeight'], (result, _, upstream) =>
        heightOf(result) > 3 && now(0.05)
          ? askNode(upstream, 'ChainGetTipSetByHeight', heightOf(result) - 3, [])
          : undefined,
      ),
  },
  'an error for a null round': {
    seenBy: 'visible',
    make: () =>
      lying(['ChainGetTipSetByHeight'], (result, { params: [height] }) =>
        heightOf(result) === height ? undefined : new Refusal(1, `null round at ${String(height)}`),
      ),
  },
  'a tipset with other blocks': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(TIPSETS, (result) =>
        isJson(result) && now(0.03) ? withOtherCids(result, 'bafy2bzacebogus') : undefined,
      ),
  },
  'a tipset of another time': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(['ChainHead', ...TIPSETS], (result) => {
        if (!isJson(result) || !Array.isArray(result['Blocks']) || !now(0.03)) return undefined
        const blocks = (result['Blocks'] as Json[]).map((block) => ({ ...block, Timestamp: 5 }))
        return { ...result, Blocks: blocks }
      }),
  },
}

/**
 * Shared by faults that drop messages or receipts, which nodes return in separate answers: if both lack the same, the
 * tipset looks whole.
 */
const COUNTS = 'messages and receipts'

const executionLies: FaultKinds = {
  'messages without their receipts': {
    seenBy: 'visible',
    coversUp: COUNTS,
    make: ({ now, below }) =>
      lying(['ChainGetParentReceipts'], (result) =>
        isFilled(result) && now(0.1) ? [null, []][below(2)] : undefined,
      ),
  },
  'receipts without their messages': {
    seenBy: 'visible',
    coversUp: COUNTS,
    make: ({ now, below }) =>
      lying(['ChainGetParentMessages'], (result) =>
        isFilled(result) && now(0.1) ? [null, []][below(2)] : undefined,
      ),
  },
  'a receipt missing': {
    seenBy: 'visible',
    coversUp: COUNTS,
    make: ({ now, below }) =>
      lying(['ChainGetParentReceipts'], (result) => (now(0.1) ? withoutOne(result, below) : undefined)),
  },
  'a message missing': {
    seenBy: 'visible',
    coversUp: COUNTS,
    make: ({ now, below }) =>
      lying(['ChainGetParentMessages'], (result) => (now(0.1) ? withoutOne(result, below) : undefined)),
  },
  'a message twice': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(['ChainGetParentMessages'], (result) =>
        isFilled(result) && now(0.1) ? [...result, result[0]] : undefined,
      ),
  },
  'another amount in a message': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(['ChainGetParentMessages'], (result) =>
        isFilled(result) && now(0.1) ? result.map(withOtherAmount) : undefined,
      ),
  },
}

function withoutOne(list: unknown, below: (n: number) => number): unknown[] | undefined {
  if (!isFilled(list)) return undefined
  const gone = below(list.length)
  return list.filter((_, at) => at !== gone)
}

function withOtherAmount(item: unknown): unknown {
  if (!isJson(item) || !isJson(item['Message'])) return item
  return { ...item, Message: { ...item['Message'], Value: '123456789' } }
}

export const lotusLies: FaultKinds = {
  ...headLies,
  ...tipsetLies,
  ...executionLies,
  ...lotusProofLies,
  ...lotusCertificateLies,
}
