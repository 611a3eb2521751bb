import { refusal, type Answer, type Fault, type FaultKinds } from './fault.ts'

/** How providers refuse a batch: the shape of the answer, the HTTP status, the code and their message. */
export interface BatchRefusal {
  /**
   * The forms of a refusal:
   * - alone: one error object with the id null instead of a list; `listed`: the same as a list of one
   * - each: an error for every call; `rest`: for those above the limit
   * - short: a list of as many answers as are allowed; `stray`: plus one error with the id null
   * - text: no JSON
   */
  shape: 'alone' | 'listed' | 'each' | 'rest' | 'short' | 'stray' | 'text'
  status?: number
  code?: number
  words?: string
}

export const BATCH_REFUSALS: Record<string, BatchRefusal> = {
  Besu: { shape: 'alone', code: -32005, words: 'Number of requests exceeds max batch size' },
  Nethermind: { shape: 'alone', code: -32005, words: 'Batch size limit exceeded' },
  Erigon: {
    shape: 'alone',
    code: -32000,
    words: 'batch limit 3 exceeded (can increase by --rpc.batch.limit)',
  },
  'go-ethereum': { shape: 'alone', code: -32600, words: 'batch too large' },
  'go-ethereum, size of the answers': { shape: 'rest', code: -32003, words: 'response too large' },
  Alchemy: {
    shape: 'alone',
    status: 400,
    code: -32600,
    words: 'Batch size too large. The limit is 3 requests',
  },
  Infura: { shape: 'alone', status: 429, code: -32005, words: 'project ID request rate exceeded' },
  QuickNode: {
    shape: 'each',
    code: -32007,
    words: '3/second request limit reached - reduce calls per second',
  },
  Ankr: { shape: 'each', code: -32062, words: 'Batch size too large' },
  dRPC: {
    shape: 'alone',
    status: 500,
    code: 31,
    words: 'Batch of more than 3 requests are not allowed on free tier',
  },
  BlockPI: { shape: 'alone', status: 503, code: -32000, words: 'too many calls at once' },
  'a Lotus gateway': { shape: 'each', code: 1, words: 'rate limited: context deadline exceeded' },
  'a limit of unknown words': { shape: 'alone', code: -32005, words: 'Limit exceeded' },
  'a limit of unknown words, call by call': { shape: 'each', code: -32005, words: 'Limit exceeded' },
  'a limit of unknown words, for the rest': { shape: 'rest', code: -32000, words: 'nope' },
  'what looks like pruned state': { shape: 'each', code: -32000, words: 'no state available' },
  'what looks like a missing method': { shape: 'each', code: -32601, words: 'method not found' },
  'an error in a list': { shape: 'listed', code: -32600, words: 'invalid request' },
  'an error with no id': { shape: 'stray', code: -32000, words: 'too much' },
  'a list that is too short': { shape: 'short' },
  'HTTP 400': { shape: 'text', status: 400 },
  'HTTP 413': { shape: 'text', status: 413 },
  'HTTP 429': { shape: 'text', status: 429 },
  'HTTP 500': { shape: 'text', status: 500 },
  'HTTP 503': { shape: 'text', status: 503 },
}

/** Refuses batches of more than `limit` calls in the given form. */
export function batchLimit(
  { shape, status = 200, code = 0, words = 'request entity too large' }: BatchRefusal,
  limit: number,
): Fault {
  const error = { code, message: words }
  const listing = (answers: (Answer | { id: null; error: object })[]): { status: number; body: string } => ({
    status,
    body: JSON.stringify(answers),
  })
  return async (requests, truth) => {
    if (requests.length <= limit) return null
    switch (shape) {
      case 'text':
        return { status, headers: { 'content-type': 'text/plain' }, body: words }
      case 'alone':
        return { status, body: refusal(null, code, words) }
      case 'listed':
        return listing([{ id: null, error }])
      case 'each':
        return listing(requests.map(({ id }) => ({ id, error })))
      case 'rest':
        return listing((await truth()).map((answer, at) => (at < limit ? answer : { id: answer.id, error })))
      case 'short':
        return listing((await truth()).slice(0, limit))
      case 'stray':
        return listing([...(await truth()).slice(0, limit), { id: null, error }])
    }
  }
}

/** The refusals take turns. */
export const batchLimits: FaultKinds = {
  'batches of three, refused in every way': {
    seenBy: 'visible',
    make: () => {
      const faults = Object.values(BATCH_REFUSALS)
        .filter(({ status }) => status !== 429)
        .map((words) => batchLimit(words, 3))
      let turn = 0
      return (requests, ...rest) => {
        if (requests.length <= 3) return null
        turn += 1
        return faults[turn % faults.length]?.(requests, ...rest) ?? null
      }
    },
  },
}
