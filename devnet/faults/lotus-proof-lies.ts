import { isJson, type Chance, type Fault, type FaultKind, type FaultKinds, type Json } from './fault.ts'
import { isFilled, lying, named, TIPSETS } from './lotus-lying.ts'

/** False answers of a Filecoin node that only the hashes in its headers show. */

/** Fields of headers that no reader compares with anything but the block's own CID. */
const headerLies: FaultKinds = {
  'a header that commits to other receipts': lyingHeader((header) => ({
    ParentMessageReceipts: header['ParentStateRoot'],
  })),
  'a header that commits to other messages': lyingHeader((header) => ({
    Messages: header['ParentStateRoot'],
  })),
  'a header of another state': lyingHeader((header) => ({
    ParentStateRoot: header['ParentMessageReceipts'],
  })),
  'a header with another base fee': lyingHeader(() => ({ ParentBaseFee: '12345' })),
  'a header without its ticket': lyingHeader(() => ({ Ticket: null })),
}

function lyingHeader(change: (header: Json) => Json): FaultKind {
  return {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lying(['ChainHead', ...TIPSETS], (result) => {
        if (!isJson(result) || !isFilled(result['Blocks']) || !now(0.03)) return undefined
        const at = below(result['Blocks'].length)
        const header = result['Blocks'][at]
        return isJson(header)
          ? { ...result, Blocks: result['Blocks'].with(at, { ...header, ...change(header) }) }
          : undefined
      }),
  }
}

const executionLies: FaultKinds = {
  'a tipset that looks empty': {
    seenBy: 'visible',
    make: ({ now }) => lyingOfWholeTipsets(() => (now(0.05) ? () => [] : null)),
  },
  'a message left out with its receipt': {
    seenBy: 'visible',
    make: ({ now, below }) =>
      lyingOfWholeTipsets((count) => {
        const gone = below(count)
        return now(0.05) ? (list) => list.filter((_, at) => at !== gone) : null
      }),
  },
  'a channel’s message with another content': {
    seenBy: 'visible',
    make: ({ now }) => lyingMessages(now, ({ Method, To }) => isOfChannel(Method, To) && { Value: '777' }),
  },
  'a channel’s message behind another': {
    seenBy: 'hidden',
    make: ({ now }) => lyingMessages(now, ({ Method, To }) => isOfChannel(Method, To) && { Method: 99 }),
  },
  'two receipts that changed places': {
    seenBy: 'visible',
    make: ({ now }) =>
      lying(['ChainGetParentReceipts'], (result) => (now(0.05) ? withSwapped(result) : undefined)),
  },
  'a message that failed is called executed': {
    seenBy: 'visible',
    make: ({ now }) => lyingReceipts(now, ({ ExitCode }) => (ExitCode === 0 ? null : { ExitCode: 0 })),
  },
  'a message that was executed is called failed': {
    seenBy: 'visible',
    make: ({ now }) => lyingReceipts(now, ({ ExitCode }) => (ExitCode === 0 ? { ExitCode: 16 } : null)),
  },
  'a receipt that returns something else': {
    seenBy: 'visible',
    make: ({ now }) => lyingReceipts(now, () => ({ Return: 'gkIA5wdVAobjuLlpI3wDFveGsqrdwUnKu/NN' })),
  },
}

/** Settles and collections, whose parameters are empty. */
function isOfChannel(method: unknown, to: unknown): boolean {
  return (method === 3 || method === 4) && /^[ft]2/.test(String(to))
}

/** Changes one message of an answer, which no longer names its content. */
function lyingMessages(now: Chance['now'], change: (message: Json) => Json | false): Fault {
  return lying(['ChainGetParentMessages'], (result) => {
    if (!isFilled(result)) return undefined
    const at = result.findIndex((item) => isJson(item) && isJson(item['Message']) && change(item['Message']))
    const item = result[at]
    if (!isJson(item) || !isJson(item['Message']) || !now(0.2)) return undefined
    const message = { ...item['Message'], ...change(item['Message']), CID: undefined }
    return result.with(at, { ...item, Message: message })
  })
}

/** Changes one receipt of an answer by the fields that `change` returns. */
function lyingReceipts(now: Chance['now'], change: (receipt: Json) => Json | null): Fault {
  return lying(['ChainGetParentReceipts'], (result) => {
    if (!isFilled(result)) return undefined
    const at = result.findIndex((receipt) => isJson(receipt) && change(receipt) !== null)
    const receipt = result[at]
    return isJson(receipt) && now(0.05) ? result.with(at, { ...receipt, ...change(receipt) }) : undefined
  })
}

/**
 * Changes messages and receipts of a tipset in the same way, so that they still match. `plan` gets their number and
 * returns the change of both lists, or null.
 */
function lyingOfWholeTipsets(plan: (count: number) => ((list: unknown[]) => unknown[]) | null): Fault {
  const parts = ['ChainGetParentMessages', 'ChainGetParentReceipts'].map(named)
  return async (requests, truth) => {
    if (!requests.some(({ method }) => parts.includes(method))) return null
    const plans = new Map<string, ReturnType<typeof plan>>()
    let changes = 0
    const answers = (await truth()).map((answer) => {
      const request = requests.find(({ id }) => id === answer.id)
      if (request === undefined || !parts.includes(request.method) || !isFilled(answer.result)) return answer
      const block = JSON.stringify(request.params)
      if (!plans.has(block)) plans.set(block, plan(answer.result.length))
      const change = plans.get(block) ?? null
      if (change === null) return answer
      changes += 1
      return { id: answer.id, result: change(answer.result) }
    })
    return changes === 0 ? null : answers
  }
}

function withSwapped(list: unknown): unknown[] | undefined {
  if (!isFilled(list)) return undefined
  const [first] = list
  const at = list.findIndex((item) => JSON.stringify(item) !== JSON.stringify(first))
  return at === -1 ? undefined : list.with(0, list[at]).with(at, first)
}

export const lotusProofLies: FaultKinds = { ...headerLies, ...executionLies }
