import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { askEveryone, settle } from '../rpc/ask-everyone.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { quantity } from './hex.ts'
import { headersByHash } from './block-reader.ts'
import { headerOf } from './proof/chain-rules.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'

/** A call of a contract's view function at a block. */
export interface ViewCall {
  to: string
  data: string
  block: BlockRef
  /** Most bytes of a result that is kept; a longer one counts as `too-large`. */
  longest: number
}

/** Another endpoint may have the state, or take a longer answer. */
const OPEN = ['pruned', 'too-large'] as const

/** Far above what a view needs. It bounds the work that a hostile contract can cause. */
const VIEW_GAS = 5_000_000n

/**
 * Returns each call's result or JSON-RPC error, in the calls' order. If an endpoint lacks the state, the others are
 * asked and awaited as by {@link askEveryone}. Errors that may pass (time-outs, internal errors, an unknown block) are
 * thrown when no endpoint answers, like transport faults; see {@link settle}. Endpoints in `asked` are excluded while
 * another one can answer. Every endpoint that is asked joins them.
 */
export function viewAll(
  client: RpcClient,
  what: string,
  calls: readonly ViewCall[],
  asked = new Set<RpcEndpoint>(),
): Promise<RpcAnswer[]> {
  const lacks = (endpoint: RpcEndpoint, { block }: ViewCall): boolean =>
    block.number > (client.stateOf(endpoint).behindAt ?? Infinity)
  const heads = new Map<RpcEndpoint, number>()
  return askEveryone(client, what, calls, {
    send: (endpoint, open) => {
      asked.add(endpoint)
      return viewAt(endpoint, open)
    },
    nameOf: ({ to, data, block }) => `eth_call/${to}/${data}/${block.hash}`,
    open: OPEN,
    lacks,
    excluding: askedBefore(client, asked, (endpoint) => calls.every((call) => lacks(endpoint, call))),
    isWell: async (endpoint, call) => {
      const head = heads.get(endpoint) ?? (await headOfWell(endpoint, call))
      if (head === null) return false
      heads.set(endpoint, head)
      return head - call.block.number > RECENT_STATES
    },
  })
}

/** Returns each call's answer in the newest state. `asked` and errors work as in {@link viewAll}. */
export function viewLatest(
  client: RpcClient,
  what: string,
  calls: readonly Omit<ViewCall, 'block'>[],
  asked = new Set<RpcEndpoint>(),
): Promise<RpcAnswer[]> {
  const viewOne = (endpoint: RpcEndpoint): Promise<RpcAnswer[]> => {
    asked.add(endpoint)
    return settle(client, endpoint, calls, {
      send: () => sendViews(endpoint, calls, () => 'latest'),
      nameOf: ({ to, data }) => `eth_call/${to}/${data}/latest`,
      open: OPEN,
    })
  }
  return client.read(what, viewOne, { excluding: askedBefore(client, asked) })
}

/** Returns the endpoints to exclude: those asked before, or none when no other available one can answer. */
function askedBefore(
  client: RpcClient,
  asked: ReadonlySet<RpcEndpoint>,
  cannotTell: (endpoint: RpcEndpoint) => boolean = () => false,
): RpcEndpoint[] {
  const isOther = client.available().some((endpoint) => !asked.has(endpoint) && !cannotTell(endpoint))
  return isOther ? [...asked] : []
}

async function viewAt(endpoint: RpcEndpoint, calls: readonly ViewCall[]): Promise<RpcAnswer[]> {
  const answers = await sendViews(endpoint, calls, ({ block }) => ({
    blockHash: block.hash,
    requireCanonical: false,
  }))
  const refused = calls.filter((_, index) => isRefusedForm(answers[index]))
  const byNumber = refused.length === 0 ? [] : await viewByNumber(endpoint, refused)
  return answers.map((answer) => (isRefusedForm(answer) ? (byNumber.shift() ?? answer) : answer))
}

/**
 * Blocks whose state every full node keeps, geth's default. A refusal of a newer state may pass, even at a healthy
 * endpoint.
 */
const RECENT_STATES = 128

/**
 * Returns the endpoint's head when it answers the same call there and knows the block. Such an endpoint is neither
 * behind nor away.
 */
async function headOfWell(endpoint: RpcEndpoint, { to, data, block }: ViewCall): Promise<number | null> {
  const [newest, head] = await endpoint.send([
    ethCall(to, data, 'latest'),
    { method: 'eth_blockNumber', params: [] },
  ])
  if (newest === undefined || !(newest.ok || newest.kind === 'revert')) return null
  const number = Number(endpoint.resultOf('eth_blockNumber', head))
  if (!Number.isSafeInteger(number)) throw new BadAnswer('eth_blockNumber: malformed')
  return (await headersByHash(endpoint, [block.hash])).length === 1 ? number : null
}

function isRefusedForm(answer: RpcAnswer | undefined): boolean {
  return answer !== undefined && !answer.ok && answer.kind === 'invalid'
}

/** Asks by height, for nodes that do not know EIP-1898. The block must still hold that height afterwards. */
async function viewByNumber(endpoint: RpcEndpoint, calls: readonly ViewCall[]): Promise<RpcAnswer[]> {
  const answers = await sendViews(endpoint, calls, ({ block }) => quantity(block.number))
  const blocks = [...new Map(calls.map(({ block }) => [block.number, block])).values()]
  const headers = await endpoint.send(
    blocks.map((block) => ({ method: 'eth_getBlockByNumber', params: [quantity(block.number), false] })),
  )
  for (const [index, block] of blocks.entries()) {
    const header = headerOf(endpoint, endpoint.resultOf('eth_getBlockByNumber', headers[index]))
    if (header?.hash !== block.hash) throw new BadAnswer(`block ${block.number} is not ${block.hash} here`)
  }
  return answers
}

/** A contract can return up to a megabyte, so long results are dropped batch by batch. */
function sendViews<Call extends Omit<ViewCall, 'block'>>(
  endpoint: RpcEndpoint,
  calls: readonly Call[],
  blockOf: (call: Call) => unknown,
): Promise<RpcAnswer[]> {
  return endpoint.sendEach(
    calls.map((call) => ethCall(call.to, call.data, blockOf(call))),
    (answer, index) => {
      const longest = calls[index]?.longest ?? 0
      if (!answer.ok || typeof answer.result !== 'string' || answer.result.length <= 2 + 2 * longest)
        return answer
      return { ok: false, kind: 'too-large', code: 0, message: `it returned more than ${longest} bytes` }
    },
  )
}

/** `block` is a tag, a height or an EIP-1898 object. */
export function ethCall(to: string, data: string, block: unknown): RpcCall {
  return { method: 'eth_call', params: [{ to, data, gas: quantity(VIEW_GAS) }, block] }
}
