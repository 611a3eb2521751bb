import type { Channel, KnownVoucher, Party } from './channel.ts'

/** (pure) The purposes of channels and vouchers in a loan. */

/** Collateral secures a token loan in FIL; principal and payback carry the FIL of a FIL loan. */
export type ChannelRole = 'collateral' | 'principal' | 'payback'

/** The hashes that a loan's contract names, 0x hex; null if unknown. */
export interface SecretHashes {
  secretHashA1: string | null
  secretHashB1: string | null
}

/** The purpose of a voucher. Voiding a lane is the only other one, and makes no record. */
export type VoucherUse = 'seize' | 'unlock' | 'pay'

/** The use of a voucher with this signer; null if it has none in this role. */
export function useOf(role: ChannelRole, signedBy: Party | null): VoucherUse | null {
  if (role === 'collateral') {
    if (signedBy === 'from') return 'seize'
    return signedBy === 'recipient' ? 'unlock' : null
  }
  return signedBy === 'from' ? 'pay' : null
}

/** The hash that such a voucher carries: that of the secret which its redemption reveals. */
export function secretHashFor(use: VoucherUse, role: ChannelRole, loan: SecretHashes): string | null {
  return (role === 'payback') !== (use === 'unlock') ? loan.secretHashB1 : loan.secretHashA1
}

/** The vouchers that make a record: they have this use and the loan's secret hash, if that is known. */
export function vouchersFor(
  use: VoucherUse,
  role: ChannelRole,
  channel: Pick<Channel, 'vouchers'>,
  loan: SecretHashes,
): KnownVoucher[] {
  const hash = secretHashFor(use, role, loan)
  return channel.vouchers.filter(({ facts, signedBy }) => {
    if (useOf(role, signedBy) !== use || facts.secretHash === null) return false
    if (use === 'unlock' && facts.amount !== '0') return false
    return hash === null || facts.secretHash === hash
  })
}
