import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from './rpc-endpoint.ts'
import { WELL_STANDS_AFTER_MS } from './refusals.ts'
import { CallFailed, type RpcErrorKind } from './rpc-error.ts'

const PAUSE_MS = 500

/** How calls are sent to one endpoint, and what its answers mean. */
export interface Asking<Call> {
  /** Returns the answers in the calls' order. */
  send: (endpoint: RpcEndpoint, calls: readonly Call[]) => Promise<RpcAnswer[]>
  /** Identifies a call in {@link RpcClient.refusals}: its method, a slash, and the rest. */
  nameOf: (call: Call) => string
  /** Kinds of errors with which a call is sent to the other endpoints, such as a pruned state. */
  open: readonly RpcErrorKind[]
  /**
   * Tells whether the state is old and the endpoint healthy: it answers the same call at its head and knows the block.
   */
  isWell?: (endpoint: RpcEndpoint, call: Call) => Promise<boolean>
  /** Tells whether an endpoint is known to lack, for now, what a call asks about. */
  lacks?: (endpoint: RpcEndpoint, call: Call) => boolean
  /** Endpoints that are not asked. */
  excluding?: readonly RpcEndpoint[]
}

/**
 * Returns each call's result or JSON-RPC error, in the calls' order; see {@link settle}. A call with an `open` error is
 * sent to the other endpoints. That answer counts only when every endpoint gave one, because an unknown in the log stays
 * unknown. An endpoint that is away or rate limited is awaited for the client's `patienceMs`. Then it is given up until it
 * answers here again: it is asked while available, but not awaited. Endpoints that lack everything still open are not
 * asked. Throws a RetryableError when no endpoint answers, or when one of the others fails with a CallFailed.
 */
export async function askEveryone<Call>(
  client: RpcClient,
  what: string,
  calls: readonly Call[],
  asking: Asking<Call>,
): Promise<RpcAnswer[]> {
  const { open, lacks = () => false, excluding = [] } = asking
  const answers: (RpcAnswer | undefined)[] = calls.map(() => undefined)
  const answered: RpcEndpoint[] = [...excluding]
  const isOpen = (answer: RpcAnswer | undefined): boolean =>
    answer === undefined || (!answer.ok && open.includes(answer.kind))
  let untilMs: number | null = null
  for (;;) {
    const left = calls.flatMap((call, index) => (isOpen(answers[index]) ? [{ call, index }] : []))
    const isAnswered = left.every(({ index }) => answers[index] !== undefined)
    const lacking = client.others().filter((endpoint) => left.every(({ call }) => lacks(endpoint, call)))
    const heard = (): RpcEndpoint[] => [...answered, ...lacking]
    const others = isAnswered ? worthAsking(client, heard()) : unasked(client, heard())
    const again = answered.length > 0
    if (left.length === 0 || (again && others.length === 0)) break
    const refusals: CallFailed[] = []
    const askOne = async (endpoint: RpcEndpoint): Promise<RpcAnswer[]> => {
      const found = await settle(
        client,
        endpoint,
        left.map(({ call }) => call),
        asking,
      ).catch((error: unknown) => {
        if (error instanceof CallFailed) refusals.push(error)
        throw error
      })
      answered.push(endpoint)
      client.apply(endpoint, { type: 'responded', wait: 'answer' })
      return found
    }
    try {
      const limits = again ? { excluding: client.others(...others), attempts: others.length } : {}
      const found = await client.read(what, askOne, limits)
      for (const [at, { index }] of left.entries()) answers[index] = found[at]
    } catch (error) {
      if (!again || !(error instanceof RetryableError) || client.closed.aborted) throw error
      if (refusals.length > 0 || (!isAnswered && unasked(client, heard()).length > 0)) throw error
      untilMs ??= performance.now() + client.patienceMs
      if (!isAnswered || !(await waitFor(client, heard(), untilMs, error))) break
    }
  }
  return answers.map((answer) => answer ?? { ok: false, kind: 'other', code: 0, message: 'no answer' })
}

/** Pauses and returns true while an endpoint is awaited. Otherwise it gives up the awaited ones and returns false. */
async function waitFor(
  client: RpcClient,
  answered: readonly RpcEndpoint[],
  untilMs: number,
  error: RetryableError,
): Promise<boolean> {
  const awaited = client.awaited('answer', answered)
  if (awaited.length === 0) return false
  if (performance.now() < untilMs) {
    await pause(PAUSE_MS, client.closed)
    return true
  }
  const labels = awaited.map(({ label }) => label).join(' or ')
  const what = `what the other endpoints no longer have counts as unknown until ${labels} answers`
  client.giveUp('answer', awaited, `${what}: ${messageOf(error)}`)
  return false
}

/** Returns the available endpoints and those still awaited. */
function worthAsking(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return [...new Set([...unasked(client, answered), ...client.awaited('answer', answered)])]
}

function unasked(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.available().filter((endpoint) => !answered.includes(endpoint))
}

/**
 * Returns an endpoint's answers when each may go into the log: a result, a revert, an `open` error, or an error that stood
 * at every available endpoint. Otherwise throws a CallFailed. A healthy endpoint that refuses an old state for some
 * seconds lacks that state, so its answer becomes `pruned`.
 */
export async function settle<Call>(
  client: RpcClient,
  endpoint: RpcEndpoint,
  calls: readonly Call[],
  { send, nameOf, open, isWell = () => Promise.resolve(false) }: Asking<Call>,
): Promise<RpcAnswer[]> {
  const { refusals } = client
  const answers = await send(endpoint, calls)
  const asked = calls.flatMap((call, index) => {
    const answer = answers[index]
    return answer === undefined ? [] : [{ answer, call, name: nameOf(call) }]
  })
  for (const { name, answer } of asked) {
    if (answer.ok || answer.kind === 'revert') refusals.forget(name)
    else refusals.note(name, endpoint, `${answer.code} ${answer.message}`)
  }
  const settled: RpcAnswer[] = []
  for (const { answer, call, name } of asked) {
    if (answer.ok || answer.kind === 'revert' || open.includes(answer.kind)) settled.push(answer)
    else if (await isWell(endpoint, call).catch(() => false)) {
      if (!refusals.stands(name, [endpoint], WELL_STANDS_AFTER_MS)) throw failed(name, answer)
      settled.push({ ...answer, kind: 'pruned' })
    } else if (refusals.stands(name, client.available())) settled.push(answer)
    else throw failed(name, answer)
  }
  return settled
}

function failed(name: string, { code, kind, message }: RpcAnswer & { ok: false }): CallFailed {
  return new CallFailed(`${name.slice(0, name.indexOf('/'))}: ${message} (${code})`, kind)
}
