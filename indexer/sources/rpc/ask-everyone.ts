import { RetryableError } from '../../../shared/errors.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from './rpc-endpoint.ts'
import { CallFailed, type RpcErrorKind } from './rpc-error.ts'

/** Asks one endpoint these calls; its answers are in their order. */
export type AskOne<Call> = (endpoint: RpcEndpoint, calls: readonly Call[]) => Promise<RpcAnswer[]>

/**
 * What each call gives: its result or its JSON-RPC error, in the calls' order. Where an endpoint cannot tell (`open`:
 * it no longer has that state, say), the others that are there are asked. What `ask` throws is thrown when no endpoint
 * answers, as transport faults are. Who is in `excluding` is not asked.
 */
export async function askEveryone<Call>(
  client: RpcClient,
  what: string,
  calls: readonly Call[],
  ask: AskOne<Call>,
  open: readonly RpcErrorKind[] = ['pruned'],
  excluding: readonly RpcEndpoint[] = [],
): Promise<RpcAnswer[]> {
  const answers: (RpcAnswer | undefined)[] = calls.map(() => undefined)
  const answered: RpcEndpoint[] = [...excluding]
  const isOpen = (answer: RpcAnswer | undefined): boolean =>
    answer === undefined || (!answer.ok && open.includes(answer.kind))
  for (;;) {
    const left = calls.flatMap((call, index) => (isOpen(answers[index]) ? [{ call, index }] : []))
    const others = unasked(client, answered)
    const again = answered.length > 0
    if (left.length === 0 || (again && others.length === 0)) break
    const asked = client.read(
      what,
      async (endpoint) => {
        const said = await ask(
          endpoint,
          left.map(({ call }) => call),
        )
        answered.push(endpoint)
        return said
      },
      again ? { excluding: [...answered], attempts: others.length } : {},
    )
    const found = again
      ? await asked.catch((error: unknown) => keepWhatWeHave(client, answered, error))
      : await asked
    if (found === null) break
    for (const [at, { index }] of left.entries()) answers[index] = found[at]
  }
  return answers.map((answer) => answer ?? { ok: false, kind: 'other', code: 0, message: 'no answer' })
}

/** "Pruned" stands when nobody is there who may have the state: not while one who is there gave no answer. */
function keepWhatWeHave(client: RpcClient, answered: readonly RpcEndpoint[], error: unknown): null {
  if (error instanceof RetryableError && unasked(client, answered).length === 0) return null
  throw error
}

function unasked(client: RpcClient, answered: readonly RpcEndpoint[]): RpcEndpoint[] {
  return client.available().filter((endpoint) => !answered.includes(endpoint))
}

/**
 * The answers, when each of them may go into the log for good: a result, an error that is an answer (`final`), or one
 * that has stood for long at every endpoint that is there. Else a CallFailed. `names` are the calls' own, for memory.
 */
export function settle(
  client: RpcClient,
  endpoint: RpcEndpoint,
  names: readonly string[],
  answers: readonly RpcAnswer[],
  final: readonly RpcErrorKind[] = ['revert', 'pruned'],
): RpcAnswer[] {
  const { refusals } = client
  for (const [index, name] of names.entries()) {
    const answer = answers[index]
    if (answer === undefined) continue
    if (answer.ok || answer.kind === 'revert') refusals.forget(name)
    else refusals.note(name, endpoint, `${answer.code} ${answer.message}`)
  }
  return answers.map((answer, index) => {
    if (answer.ok || final.includes(answer.kind)) return answer
    const name = names[index] ?? ''
    if (refusals.stands(name, client.available())) return answer
    const method = name.slice(0, name.indexOf('/'))
    throw new CallFailed(`${method}: ${answer.message} (${answer.code})`, answer.kind)
  })
}
