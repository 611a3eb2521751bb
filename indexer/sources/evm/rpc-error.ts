import { RetryableError } from '../../../shared/errors.ts'

/**
 * What went wrong with a request. Providers use the same codes for different things, so this decides only what is
 * safe to decide: whether it is an answer (a revert), whose fault it is, and who should be asked next.
 */

/** The endpoint did not answer as JSON-RPC: unreachable, too slow, HTML, half a body, another request's id. */
export class EndpointFault extends RetryableError {
  override name = 'EndpointFault'
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

/**
 * - revert: the call ran and failed, everywhere alike: an answer
 * - pruned: the endpoint no longer has that block's state
 * - missing-block: the endpoint does not know the block (lagging, or the block left its branch)
 * - invalid: the request's form is refused (older nodes do not know EIP-1898)
 * - unsupported: no such method
 * - rate: slow down
 * - other: anything else, time-outs and range limits among them
 */
export type RpcErrorKind =
  'revert' | 'pruned' | 'missing-block' | 'invalid' | 'unsupported' | 'rate' | 'other'

const RANGE = /results|block range|range (is )?too|too wide|response size|limited to|max(imum)? .*blocks/i
const RATE =
  /rate.?limit|too many requests|throughput|compute units|request limit|quota|capacity|requests per second/i
const REVERT =
  /revert|invalid opcode|out of gas|stack (limit|overflow|underflow)|invalid jump|gas required exceeds|VM Exception|OutOfGas|InvalidFEOpcode|OpcodeNotFound|StackUnderflow|InvalidJump/i
const PRUNED =
  /missing trie node|pruned|historical state|no state available|state .*(not |un)available|data unavailable|proof window|archive|BlockOutOfRange/i
const MISSING_BLOCK = /header not found|unknown block|block not found|resource not found|unknown header/i

export function classifyRpcError(code: number, message: string): RpcErrorKind {
  if (code === 3 || REVERT.test(message)) return 'revert'
  if (PRUNED.test(message)) return isAboveHead(message) ? 'missing-block' : 'pruned'
  if (MISSING_BLOCK.test(message)) return 'missing-block'
  if (code === -32601) return 'unsupported'
  if (RANGE.test(message)) return 'other'
  if (code === -32005 || code === -32029 || code === 429 || RATE.test(message)) return 'rate'
  if (code === -32602) return 'invalid'
  return 'other'
}

/** Anvil has one message for a state that is gone and for a block that is not there yet. */
function isAboveHead(message: string): boolean {
  const [, height, requested] = /height is (\d+) but requested was (\d+)/.exec(message) ?? []
  return height !== undefined && requested !== undefined && Number(requested) > Number(height)
}
