import { KINDS_OF_ROLE } from './chain-event.ts'

/** Event names of the records that a linked payment channel makes (protocol.md section 4). */
const CHANNEL_EVENTS = [
  'LendERC20/LockCollateral',
  'LendERC20/SignCollateralVoucher',
  'LendERC20/SignUnlockCollateralVoucher',
  'LendERC20/RedeemSeizeCollateralVoucher',
  'LendERC20/RedeemUnlockCollateralVoucher',
  'LendERC20/SettleSeizeCollateral',
  'LendERC20/SettleUnlockCollateral',
  'LendERC20/CollectSeizeCollateral',
  'LendERC20/CollectUnlockCollateral',
  'LendFIL/CreatePaymentChannel',
  'LendFIL/SignWithdrawVoucher',
  'LendFIL/RedeemWithdrawVoucher',
  'LendFIL/SettleWithdraw',
  'LendFIL/CollectWithdraw',
  'LendFIL/PaybackPaymentChannel',
  'LendFIL/SignPaybackVoucher',
  'LendFIL/RedeemPaybackVoucher',
  'LendFIL/SettlePayback',
  'LendFIL/CollectPayback',
] as const

export type ChannelEventName = (typeof CHANNEL_EVENTS)[number]

/** Every event name that a record can have. */
export const RECORD_EVENTS: readonly string[] = [...Object.values(KINDS_OF_ROLE).flat(), ...CHANNEL_EVENTS]
