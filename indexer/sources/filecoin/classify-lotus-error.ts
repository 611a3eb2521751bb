import { isRateLimit, type RpcErrorKind } from '../rpc/rpc-error.ts'

/**
 * (pure) Classifies the errors of Filecoin nodes as far as that is safe. Codes above 0 come from the method itself.
 * Most errors share code 1, so the message text decides.
 */

const NO_SUCH_ACTOR = 11
const MANAGER_DISABLED = 13
const METHOD_NOT_FOUND = -32601

const NO_ACTOR =
  /actor not found|resolution lookup failed|not account|no such actor|unknown actor|address (key )?not found|cannot resolve/i
const REFUSED = /missing permission|payment channel manager (is )?disabled|method .*not (found|supported)/i
/** A missing tipset may still arrive; a missing state was pruned or never kept. */
const TOO_OLD = /lookbacks? of more than|pruned|historical state|state.*could not find/i
const NOT_THERE = /could not find|not found|greater than start point|not in (the )?(blockstore|store)/i

export function classifyLotusError(code: number, message: string): RpcErrorKind {
  if (isRateLimit(code, message)) return 'rate'
  if (code === METHOD_NOT_FOUND || code === MANAGER_DISABLED || REFUSED.test(message)) return 'unsupported'
  if (code === NO_SUCH_ACTOR || NO_ACTOR.test(message)) return 'revert'
  if (TOO_OLD.test(message)) return 'pruned'
  if (NOT_THERE.test(message)) return 'missing-block'
  return code === -32602 ? 'invalid' : 'other'
}
