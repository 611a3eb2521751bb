import { isRateLimit, type RpcErrorKind } from '../rpc/rpc-error.ts'

/** (pure) Classifies the errors of EVM nodes and providers, as far as that is safe. */

const RANGE =
  /results|block range|range limit|too many logs|range (is )?too|too wide|response size|limited to|max(imum)? .*blocks/i
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
  if (isRateLimit(code, message)) return 'rate'
  if (code === -32602) return 'invalid'
  return 'other'
}

/** Anvil has one message for a pruned state and for a block above its head. */
function isAboveHead(message: string): boolean {
  const [, height, requested] = /height is (\d+) but requested was (\d+)/.exec(message) ?? []
  return height !== undefined && requested !== undefined && Number(requested) > Number(height)
}
