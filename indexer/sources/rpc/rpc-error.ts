import { RetryableError } from '../../../shared/errors.ts'

/**
 * What went wrong with a request. Providers use the same codes for different things, so this decides only what is
 * safe to decide: whether it is an answer (a revert), whose fault it is, and who should be asked next.
 */

/** The endpoint did not answer as JSON-RPC: unreachable, too slow, HTML, half a body, another request's id. */
export class EndpointFault extends RetryableError {
  override name = 'EndpointFault'
}

/** No answer within our time limit. */
export class TimedOut extends EndpointFault {
  override name = 'TimedOut'
}

/** The answer is larger than its request can need: it is not read to its end, or not parsed. */
export class AnswerTooLarge extends EndpointFault {
  override name = 'AnswerTooLarge'
}

/** The endpoint does not know us: no token, or one that it does not take. */
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

/** A gateway's status for an endpoint that is too slow; 524 is Cloudflare's. */
const GATEWAY_TIME_OUTS: readonly number[] = [504, 524]

/** Whether the answer took too long, for us or for a gateway in between. */
export function isTimeOut(error: unknown): boolean {
  return (
    error instanceof TimedOut || (error instanceof RequestRefused && GATEWAY_TIME_OUTS.includes(error.status))
  )
}

/** The endpoint asked us to slow down. `retryAfterMs` is what it said, if it said anything. */
export class RateLimited extends RetryableError {
  override name = 'RateLimited'
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The answer is well-formed and cannot be true: it contradicts a header, another endpoint or what is final. */
export class BadAnswer extends RetryableError {
  override name = 'BadAnswer'
}

/** The endpoint has another block than the final one, or a head below it. */
export class ContradictsFinal extends BadAnswer {
  override name = 'ContradictsFinal'
}

/** Whether an endpoint failed because it contradicts what is final; a client's error has those of its endpoints as its cause. */
export function contradictsFinal(error: unknown): boolean {
  if (error instanceof ContradictsFinal) return true
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof AggregateError && cause.errors.some(contradictsFinal)
}

/** The endpoint is of another chain. It never serves this network. */
export class WrongChain extends RetryableError {
  override name = 'WrongChain'
  readonly found: string
  constructor(message: string, found: string) {
    super(message)
    this.found = found
  }
}

/** The endpoint answered with a JSON-RPC error: it will not or cannot do this request, others may. */
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

/** Whether a JSON-RPC error says "slow down". -32005 is also the code of other limits, so callers look at its words first. */
export function isRateLimit(code: number, message: string): boolean {
  return code === -32005 || code === -32029 || code === 429 || RATE.test(message)
}

/**
 * - revert: the call ran and failed, everywhere alike: an answer (on Filecoin: there is no such actor)
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

/** As Node and undici name what went wrong. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}
