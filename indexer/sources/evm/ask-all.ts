import { RetryableError } from '../../../shared/errors.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { EvmClient } from './evm-client.ts'
import { quantity } from './hex.ts'
import { decodeHeader } from './decode-answer.ts'
import { BadAnswer, CallFailed } from './rpc-error.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from './rpc-endpoint.ts'

/** A call of a contract's view function, as of a block. */
export interface ViewCall {
  to: string
  data: string
  block: BlockRef
}

/** Far above what a view needs, and a bound for what a hostile contract can make a node do. */
const VIEW_GAS = 5_000_000n

/**
 * What each call gives: its result or its JSON-RPC error, in the calls' order. Where an endpoint no longer has the
 * state, the others that are there are asked. Errors that may pass (time-outs, internal errors, a block the endpoint
 * does not know yet) are thrown when no endpoint answers, as transport faults are; see {@link settle}.
 */
export async function viewAll(
  client: EvmClient,
  what: string,
  calls: readonly ViewCall[],
): Promise<RpcAnswer[]> {
  const answers: (RpcAnswer | undefined)[] = calls.map(() => undefined)
  const answered: RpcEndpoint[] = []
  for (;;) {
    const open = calls.flatMap((call, index) => (isOpen(answers[index]) ? [{ call, index }] : []))
    const others = unasked(client, answered)
    const again = answered.length > 0
    if (open.length === 0 || (again && others.length === 0)) break
    const ask = client.read(
      what,
      async (endpoint) => {
        const said = await viewOn(
          client,
          endpoint,
          open.map(({ call }) => call),
        )
        answered.push(endpoint)
        return said
      },
      again ? { excluding: [...answered], attempts: others.length } : {},
    )
    const found = again
      ? await ask.catch((error: unknown) => keepWhatWeHave(client, answered, error))
      : await ask
    if (found === null) break
    for (const [at, { index }] of open.entries()) answers[index] = found[at]
  }
  return answers.map((answer) => answer ?? { ok: false, kind: 'other', code: 0, message: 'no answer' })
}

/** "Pruned" stands when nobody is there who may have the state: not while one who is there gave no answer. */
function keepWhatWeHave(client: EvmClient, answered: readonly RpcEndpoint[], error: unknown): null {
  if (error instanceof RetryableError && unasked(client, answered).length === 0) return null
  throw error
}

function unasked(client: EvmClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.available().filter((endpoint) => !answered.includes(endpoint))
}

/** A view function's answer in the newest state. Throws as {@link viewAll} does. */
export function viewLatest(
  client: EvmClient,
  what: string,
  calls: readonly Omit<ViewCall, 'block'>[],
): Promise<RpcAnswer[]> {
  return client.read(what, async (endpoint) => {
    const answers = await endpoint.send(calls.map(({ to, data }) => ethCall(to, data, 'latest')))
    return settle(
      client,
      endpoint,
      calls.map(({ to, data }) => `${to}/${data}/latest`),
      answers,
    )
  })
}

function isOpen(answer: RpcAnswer | undefined): boolean {
  return answer === undefined || (!answer.ok && answer.kind === 'pruned')
}

async function viewOn(
  client: EvmClient,
  endpoint: RpcEndpoint,
  calls: readonly ViewCall[],
): Promise<RpcAnswer[]> {
  const byHash = calls.map(({ to, data, block }) =>
    ethCall(to, data, { blockHash: block.hash, requireCanonical: false }),
  )
  const answers = await endpoint.send(byHash)
  const refused = calls.filter((_, index) => isRefusedForm(answers[index]))
  const byNumber = refused.length === 0 ? [] : await viewByNumber(endpoint, refused)
  return settle(
    client,
    endpoint,
    calls.map(({ to, data, block }) => `${to}/${data}/${block.hash}`),
    answers.map((answer) => (isRefusedForm(answer) ? (byNumber.shift() ?? answer) : answer)),
  )
}

/**
 * The answers, when each of them may go into the log for good: a result, a revert, state that is gone, or an error
 * that has stood for long at every endpoint that is there. Else a CallFailed.
 */
function settle(
  client: EvmClient,
  endpoint: RpcEndpoint,
  calls: readonly string[],
  answers: readonly RpcAnswer[],
): RpcAnswer[] {
  const { refusals } = client
  for (const [index, call] of calls.entries()) {
    const answer = answers[index]
    if (answer === undefined) continue
    if (answer.ok || answer.kind === 'revert') refusals.forget(call)
    else refusals.note(call, endpoint, `${answer.code} ${answer.message}`)
  }
  return answers.map((answer, index) => {
    if (answer.ok || answer.kind === 'revert' || answer.kind === 'pruned') return answer
    if (refusals.stands(calls[index] ?? '', client.available())) return answer
    throw new CallFailed(`eth_call: ${answer.message} (${answer.code})`, answer.kind)
  })
}

function isRefusedForm(answer: RpcAnswer | undefined): boolean {
  return answer !== undefined && !answer.ok && answer.kind === 'invalid'
}

/** For nodes that do not know EIP-1898: by height, and the block must still be that height's afterwards. */
async function viewByNumber(endpoint: RpcEndpoint, calls: readonly ViewCall[]): Promise<RpcAnswer[]> {
  const answers = await endpoint.send(
    calls.map(({ to, data, block }) => ethCall(to, data, quantity(block.number))),
  )
  const blocks = [...new Map(calls.map(({ block }) => [block.number, block])).values()]
  const headers = await endpoint.send(
    blocks.map((block) => ({ method: 'eth_getBlockByNumber', params: [quantity(block.number), false] })),
  )
  for (const [index, block] of blocks.entries()) {
    const header = decodeHeader(endpoint.resultOf('eth_getBlockByNumber', headers[index]))
    if (header?.hash !== block.hash) throw new BadAnswer(`block ${block.number} is not ${block.hash} here`)
  }
  return answers
}

function ethCall(to: string, data: string, block: unknown): RpcCall {
  return { method: 'eth_call', params: [{ to, data, gas: quantity(VIEW_GAS) }, block] }
}
