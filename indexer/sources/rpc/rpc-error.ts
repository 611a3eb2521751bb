import { RetryableError } from '../../../shared/errors.ts'

/**
 * Errors of a request. Providers use the same codes for different things, so these classes decide only what is safe.
 * They tell whether an error is an answer (a revert), whose fault it is, and which endpoint to ask next.
 */

/** The endpoint did not answer as JSON-RPC: unreachable, too slow, HTML, half a body, another request's id. */
export class EndpointFault extends RetryableError {
  override name = 'EndpointFault'
}

/** No answer within our time limit. */
export class TimedOut extends EndpointFault {
  override name = 'TimedOut'
}

/** The answer is larger than its request can need, so it is not read to its end or not parsed. */
export class AnswerTooLarge extends EndpointFault {
  override name = 'AnswerTooLarge'
}

/** The endpoint rejects our access: the token is missing or not accepted. */
export class AccessRefused extends EndpointFault {
  override name = 'AccessRefused'
}

/** An HTTP status of 400 or above instead of JSON: the endpoint is unwell, or the request asks too much. */
export class RequestRefused extends EndpointFault {
  override name = 'RequestRefused'
  readonly status: number
  constructor(status: number) {
    super(`HTTP ${status}`)
    this.status = status
  }
}

/** Statuses of a gateway whose endpoint is too slow; 524 is Cloudflare's. */
const GATEWAY_TIME_OUTS: readonly number[] = [504, 524]

/** Tells whether the answer took too long, for us or for a gateway in between. */
export function isTimeOut(error: unknown): boolean {
  return (
    error instanceof TimedOut || (error instanceof RequestRefused && GATEWAY_TIME_OUTS.includes(error.status))
  )
}

/** The endpoint asked us to slow down. `retryAfterMs` is null when it named no time. */
export class RateLimited extends RetryableError {
  override name = 'RateLimited'
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The answer is well-formed but cannot be true: it contradicts a header, another endpoint or a final block. */
export class BadAnswer extends RetryableError {
  override name = 'BadAnswer'
}

/** The endpoint has another block at a final height, or a head below it. */
export class ContradictsFinal extends BadAnswer {
  override name = 'ContradictsFinal'
}

/**
 * Tells whether an endpoint failed because it contradicts a final block. A client's error has those of its endpoints as
 * its cause.
 */
export function contradictsFinal(error: unknown): boolean {
  if (error instanceof ContradictsFinal) return true
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof AggregateError && cause.errors.some(contradictsFinal)
}

/** The endpoint is of another chain and must not serve this network. */
export class WrongChain extends RetryableError {
  override name = 'WrongChain'
  readonly found: string
  constructor(message: string, found: string) {
    super(message)
    this.found = found
  }
}

/** All endpoints that were asked failed. Places count from 1, in the order of the configuration. */
export class EndpointsFailed extends RetryableError {
  readonly endpoints: readonly number[]
  constructor(message: string, endpoints: readonly number[], options?: ErrorOptions) {
    super(message, options)
    this.endpoints = endpoints
  }
}

/** Places of the endpoints behind an error or its cause; empty where it names none. */
export function endpointsOf(error: unknown): readonly number[] {
  if (error instanceof EndpointsFailed) return error.endpoints
  return error instanceof Error && error.cause !== undefined ? endpointsOf(error.cause) : []
}

/** The endpoint answered with a JSON-RPC error: it cannot or will not do this request, but others may. */
export class CallFailed extends RetryableError {
  override name = 'CallFailed'
  readonly kind: RpcErrorKind
  constructor(message: string, kind: RpcErrorKind) {
    super(message)
    this.kind = kind
  }
}

const RATE =
  /rate.?limit|too many requests|throughput|compute units|request limit|quota|capacity|requests per second/i

/** Tells whether a JSON-RPC error says "slow down". Other limits use -32005 too, so callers match the words first. */
export function isRateLimit(code: number, message: string): boolean {
  return code === -32005 || code === -32029 || code === 429 || RATE.test(message)
}

/**
 * - revert: the call ran and failed, the same everywhere, so it is an answer (on Filecoin: no such actor)
 * - pruned: the endpoint no longer has that block's state
 * - missing-block: the endpoint does not know the block (lagging, or the block left its branch)
 * - invalid: the request's form is refused (older nodes do not know EIP-1898)
 * - unsupported: no such method
 * - rate: slow down
 * - too-large: more than is held in memory
 * - other: anything else, time-outs and range limits among them
 */
export type RpcErrorKind =
  'revert' | 'pruned' | 'missing-block' | 'invalid' | 'unsupported' | 'rate' | 'too-large' | 'other'

/** Returns the `code` by which Node and undici name an error. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}
