import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from './rpc-endpoint.ts'
import { WELL_STANDS_AFTER_MS } from './refusals.ts'
import { CallFailed, type RpcErrorKind } from './rpc-error.ts'

const PAUSE_MS = 500

/** Sends these calls to one endpoint and returns the answers in their order. */
export type AskOne<Call> = (endpoint: RpcEndpoint, calls: readonly Call[]) => Promise<RpcAnswer[]>

/** Tells whether an endpoint is known to lack, for now, what a call asks about. */
export type Lacks<Call> = (endpoint: RpcEndpoint, call: Call) => boolean

/**
 * Returns each call's result or JSON-RPC error, in the calls' order. A call whose answer is of a kind in `open` (a
 * pruned state, say) is sent to the other endpoints. That answer counts only when every endpoint gave one, because an
 * unknown in the log stays unknown. An endpoint that is away or rate limited is awaited for the client's `patienceMs`.
 * Then it is given up until it answers here again: it is asked while available, but not awaited. Endpoints in
 * `excluding` are not asked, nor those that lack everything still open. Throws a RetryableError when no endpoint
 * answers, or when one of the others fails with a CallFailed.
 */
export async function askEveryone<Call>(
  client: RpcClient,
  what: string,
  calls: readonly Call[],
  ask: AskOne<Call>,
  open: readonly RpcErrorKind[] = ['pruned'],
  excluding: readonly RpcEndpoint[] = [],
  lacks: Lacks<Call> = () => false,
): Promise<RpcAnswer[]> {
  const answers: (RpcAnswer | undefined)[] = calls.map(() => undefined)
  const answered: RpcEndpoint[] = [...excluding]
  const isOpen = (answer: RpcAnswer | undefined): boolean =>
    answer === undefined || (!answer.ok && open.includes(answer.kind))
  let untilMs: number | null = null
  for (;;) {
    const left = calls.flatMap((call, index) => (isOpen(answers[index]) ? [{ call, index }] : []))
    const isSaid = left.every(({ index }) => answers[index] !== undefined)
    const lacking = client.others().filter((endpoint) => left.every(({ call }) => lacks(endpoint, call)))
    const heard = (): RpcEndpoint[] => [...answered, ...lacking]
    const others = isSaid ? worthAsking(client, heard()) : unasked(client, heard())
    const again = answered.length > 0
    if (left.length === 0 || (again && others.length === 0)) break
    const refusals: CallFailed[] = []
    try {
      const found = await client.read(
        what,
        async (endpoint) => {
          const asked = ask(
            endpoint,
            left.map(({ call }) => call),
          )
          const said = await asked.catch((error: unknown) => {
            if (error instanceof CallFailed) refusals.push(error)
            throw error
          })
          answered.push(endpoint)
          client.apply(endpoint, { type: 'responded', wait: 'answer' })
          return said
        },
        again ? { excluding: client.others(...others), attempts: others.length } : {},
      )
      for (const [at, { index }] of left.entries()) answers[index] = found[at]
    } catch (error) {
      if (!again || !(error instanceof RetryableError) || client.closed.aborted) throw error
      if (refusals.length > 0 || (!isSaid && unasked(client, heard()).length > 0)) throw error
      untilMs ??= performance.now() + client.patienceMs
      if (!isSaid || !(await waitFor(client, heard(), untilMs, error))) break
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
  const awaited = expected(client, answered)
  if (awaited.length === 0) return false
  if (performance.now() < untilMs) {
    await pause(PAUSE_MS, client.closed)
    return true
  }
  for (const endpoint of awaited) client.apply(endpoint, { type: 'given up', wait: 'answer' })
  const labels = awaited.map(({ label }) => label).join(' or ')
  client.say(
    `what the other endpoints no longer have counts as unknown until ${labels} answers: ${messageOf(error)}`,
  )
  return false
}

/** Returns the available endpoints and those still awaited. */
function worthAsking(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return [...new Set([...unasked(client, answered), ...expected(client, answered)])]
}

function unasked(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.available().filter((endpoint) => !answered.includes(endpoint))
}

function expected(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.others(...answered).filter((endpoint) => !client.stateOf(endpoint).givenUp.answer)
}

/**
 * Tells whether the state is old and the endpoint healthy: it answers the same call at its head and knows the block.
 */
export type IsWell = (index: number) => Promise<boolean>

/**
 * Returns the answers when each may go into the log: a result, an error in `final`, or one that stood at every
 * available endpoint. Otherwise throws a CallFailed. A healthy endpoint that refuses an old state for some seconds
 * lacks that state, so its answer becomes `pruned`. `names` identify the calls in {@link RpcClient.refusals}.
 */
export async function settle(
  client: RpcClient,
  endpoint: RpcEndpoint,
  names: readonly string[],
  answers: readonly RpcAnswer[],
  final: readonly RpcErrorKind[] = ['revert', 'pruned', 'too-large'],
  isWell: IsWell = () => Promise.resolve(false),
): Promise<RpcAnswer[]> {
  const { refusals } = client
  for (const [index, name] of names.entries()) {
    const answer = answers[index]
    if (answer === undefined) continue
    if (answer.ok || answer.kind === 'revert') refusals.forget(name)
    else refusals.note(name, endpoint, `${answer.code} ${answer.message}`)
  }
  const settled: RpcAnswer[] = []
  for (const [index, answer] of answers.entries()) {
    const name = names[index] ?? ''
    if (answer.ok || final.includes(answer.kind)) settled.push(answer)
    else if (await isWell(index).catch(() => false)) {
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
