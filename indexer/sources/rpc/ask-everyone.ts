import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from './rpc-endpoint.ts'
import { WELL_STANDS_AFTER_MS } from './refusals.ts'
import { CallFailed, type RpcErrorKind } from './rpc-error.ts'

const PAUSE_MS = 500

/** Asks one endpoint these calls; its answers are in their order. */
export type AskOne<Call> = (endpoint: RpcEndpoint, calls: readonly Call[]) => Promise<RpcAnswer[]>

/** Whether an endpoint is known not to have what a call asks about yet. */
export type Lacks<Call> = (endpoint: RpcEndpoint, call: Call) => boolean

/**
 * Each call's outcome: its result or its JSON-RPC error, in the calls' order. Where an endpoint cannot tell (`open`:
 * it no longer has that state, say), the others are asked; that nobody can tell is an answer when each of them has said
 * so, for what goes into the log as unknown stays unknown. One that is away for a moment or rate limited is waited for. One
 * that was waited for in vain (the client's `patienceMs`) is given up until it answers here again: it is still asked where
 * it is there, and done without where it is not. What `ask` throws is thrown when no endpoint answers, as transport faults
 * are, and so is a CallFailed of another one. Who is in `excluding` is not asked, nor who lacks all of what the others left
 * open.
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

/** Whether there is still somebody to wait for; a moment later. */
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

/** The endpoints that are there, and those that are waited for. */
function worthAsking(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return [...new Set([...unasked(client, answered), ...expected(client, answered)])]
}

function unasked(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.available().filter((endpoint) => !answered.includes(endpoint))
}

function expected(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.others(...answered).filter((endpoint) => !client.stateOf(endpoint).givenUp.answer)
}

/** Whether the state is an old one, and the endpoint is well: it answers such a question of its head, and knows the block. */
export type IsWell = (index: number) => Promise<boolean>

/**
 * The answers, when each of them may go into the log for good: a result, an error that is an answer (`final`), or one that
 * has stood for long at every endpoint that is there. Else a CallFailed. An endpoint that is well but refuses a call of an
 * old state for some seconds does not have that state, whatever it says: that answer becomes `pruned`. `names` are the
 * calls' own, for memory.
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
