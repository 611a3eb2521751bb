import * as z from 'zod'
import { validate } from '../mistake.ts'

/**
 * Items signed off-chain as they are handed in: through the voucher queue (a job's data), the operator's import or the
 * node's own store.
 */

/** Standard base64 or base64url of the CBOR. */
export interface SignedVoucherText {
  voucher: string
}

export interface SignedStatement {
  /** The JSON text exactly as it was signed. */
  message: string
  /** Hex of 65 bytes: r, s, recovery id. */
  signature: string
}

/** The queue of jobs that hand in items. */
export const VOUCHER_QUEUE = 'vouchers'

export type HandedIn = SignedVoucherText | { statement: SignedStatement }

/** Characters of a voucher's text: 4 KiB of CBOR. */
export const MAX_HANDED_IN_VOUCHER = 5_464
/** Characters of a statement; a longer one is refused before it is parsed. */
export const MAX_HANDED_IN_STATEMENT = 16 * 1024

const NO_SIGNATURE = 'must be the 65 bytes r, s and recovery id as hex'
const voucherText = z.string().min(1).max(MAX_HANDED_IN_VOUCHER)
const statement = z.strictObject({
  message: z.string().min(2).max(MAX_HANDED_IN_STATEMENT),
  signature: z.string().min(130, NO_SIGNATURE).max(132, NO_SIGNATURE),
})
/** The networkId of a Filecoin network; optional if only one is configured. */
const network = z.string().min(1).max(32).optional()

/** The data of a job: a voucher or a statement, and nothing else. */
const voucherJob = z.strictObject({ network, voucher: voucherText })
const statementJob = z.strictObject({ network, statement })

/** Returns the item and its network (null if not named), or the reason why it is not one. Never throws. */
export function parseHandedIn(
  data: unknown,
): { ok: true; networkId: string | null; item: HandedIn } | { ok: false; reason: string } {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { ok: false, reason: 'it is no JSON object' }
  const isVoucher = Object.hasOwn(data, 'voucher')
  if (isVoucher === Object.hasOwn(data, 'statement'))
    return { ok: false, reason: 'it must have one of `voucher` and `statement`' }
  const parsed = validate(isVoucher ? voucherJob : statementJob, data)
  if (!parsed.ok) return { ok: false, reason: `${parsed.mistake.path || 'it'} ${parsed.mistake.message}` }
  const { network: networkId, ...item } = parsed.value
  return { ok: true, networkId: networkId ?? null, item }
}
