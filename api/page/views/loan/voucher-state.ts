/** (pure) A voucher in words. */
import type { LoanVoucher } from '../../../../client/generated/types.gen.ts'
import { countdown } from './countdown.ts'
import { momentOf } from './next-actions.ts'

export interface VoucherState {
  tone: 'done' | 'open' | 'waiting' | 'void'
  text: string
}

const USES: Record<string, string> = {
  'collateral seize': 'Seize voucher',
  'collateral unlock': 'Unlock voucher',
  'principal pay': 'Withdraw voucher',
  'payback pay': 'Payback voucher',
}
const MEANINGS: Record<string, string> = {
  'collateral seize': 'gives the collateral to the lender, who needs secret A1',
  'collateral unlock': 'gives the collateral back to the borrower, who needs secret B1',
  'principal pay': 'pays the principal to the borrower, who shows secret A1',
  'payback pay': 'pays the payback to the lender, who shows secret B1',
}

export function voucherTitle({ role, use }: Pick<LoanVoucher, 'role' | 'use'>): string {
  return USES[`${role} ${use}`] ?? `Unknown voucher of the ${role} channel`
}

export function voucherMeaning({ role, use }: Pick<LoanVoucher, 'role' | 'use'>): string {
  return MEANINGS[`${role} ${use}`] ?? 'is no voucher of the protocol'
}

/** `now` is the present by the chain's clock. */
export function voucherState(
  { redeemed, supersededBy, redeemable }: Pick<LoanVoucher, 'redeemed' | 'supersededBy' | 'redeemable'>,
  now: number,
): VoucherState {
  if (redeemed !== null) return { tone: 'done', text: `Redeemed in epoch ${redeemed.epoch}` }
  if (supersededBy !== null) return { tone: 'void', text: 'Replaced by a later voucher' }
  const until = momentOf(redeemable.until)
  if (until !== null && until <= now) return { tone: 'void', text: 'The time has run out' }
  if (redeemable.now) {
    return {
      tone: 'open',
      text:
        until === null
          ? 'Can be redeemed now'
          : `Can be redeemed now, time runs out ${countdown(until, now)}`,
    }
  }
  const from = momentOf(redeemable.from)
  if (from !== null && from > now)
    return { tone: 'waiting', text: `Can be redeemed ${countdown(from, now)} at the earliest` }
  return { tone: 'waiting', text: 'Cannot be redeemed now' }
}
