import { ABORTED, unlessAborted } from '../../../shared/async/abort.ts'
import { unescaped } from '../../../shared/secrets.ts'
import { undiciExchange, type HttpAnswer } from './http-exchange.ts'
import type { BodyRoom } from './read-body.ts'
import { codeOf, EndpointFault, TimedOut } from './rpc-error.ts'

export interface PostOptions {
  /** Milliseconds for the whole exchange, the body's last byte included. */
  timeoutMs: number
  /** Aborting it ends the exchange at once. */
  controller: AbortController
  /** Room for the answer's body. */
  room: BodyRoom
}

/** Posts JSON. Throws an EndpointFault that names no URL. */
export type HttpPost = (body: string, options: PostOptions) => Promise<HttpAnswer>

/** A URL without its user part, which travels as a header. */
interface HttpTarget {
  url: string
  headers: Record<string, string>
}

export function httpTarget(rpcUrl: string): HttpTarget {
  const url = new URL(rpcUrl)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (url.username !== '' || url.password !== '') {
    const user = `${unescaped(url.username)}:${unescaped(url.password)}`
    headers['authorization'] = `Basic ${Buffer.from(user).toString('base64')}`
    url.username = ''
    url.password = ''
  }
  return { url: url.href, headers }
}

/** Creates a function that posts by {@link undiciExchange}. */
export function undiciPost(rpcUrl: string): HttpPost {
  const { url, headers } = httpTarget(rpcUrl)
  const target = new URL(url)
  return (body, { timeoutMs, controller, room }) =>
    underTimeLimit(timeoutMs, controller, () =>
      undiciExchange(target, headers, body, { signal: controller.signal, room }),
    )
}

/** Runs one exchange and aborts `controller` when it takes too long. Throws EndpointFaults alone. */
export async function underTimeLimit<T>(
  timeoutMs: number,
  controller: AbortController,
  exchange: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(
    () => controller.abort(new TimedOut(`no answer within ${timeoutMs} ms`)),
    timeoutMs,
  )
  try {
    // A socket that is still connecting does not notice an abort.
    const answer = await unlessAborted(exchange(), controller.signal)
    if (answer !== ABORTED) return answer
    throw controller.signal.reason
  } catch (error) {
    const reason: unknown = controller.signal.reason
    if (reason instanceof EndpointFault) throw reason
    throw error instanceof EndpointFault ? error : new EndpointFault(transportReason(error))
  } finally {
    clearTimeout(timer)
  }
}

/** Uses codes and names alone: a message may hold the URL, and a URL may hold a token. */
function transportReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  for (const item of [cause, error]) {
    const code = codeOf(item)
    if (code !== null) return code
  }
  if (cause instanceof Error) return /[/@:]/.test(cause.message) ? cause.name : cause.message
  return error instanceof Error ? `connection failed (${error.name})` : 'connection failed'
}
