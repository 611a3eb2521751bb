import { KINDS_OF_ROLE } from './chain-event.ts'

/**
 * Event names of the records that a linked payment channel makes (protocol.md section 4), by its role and the use of the
 * voucher.
 */
export const CHANNEL_RECORDS = {
  collateral: {
    create: 'LendERC20/LockCollateral',
    sign: { seize: 'LendERC20/SignCollateralVoucher', unlock: 'LendERC20/SignUnlockCollateralVoucher' },
    redeem: {
      seize: 'LendERC20/RedeemSeizeCollateralVoucher',
      unlock: 'LendERC20/RedeemUnlockCollateralVoucher',
    },
    settle: { seize: 'LendERC20/SettleSeizeCollateral', unlock: 'LendERC20/SettleUnlockCollateral' },
    collect: { seize: 'LendERC20/CollectSeizeCollateral', unlock: 'LendERC20/CollectUnlockCollateral' },
  },
  principal: {
    create: 'LendFIL/CreatePaymentChannel',
    sign: { pay: 'LendFIL/SignWithdrawVoucher' },
    redeem: { pay: 'LendFIL/RedeemWithdrawVoucher' },
    settle: { pay: 'LendFIL/SettleWithdraw' },
    collect: { pay: 'LendFIL/CollectWithdraw' },
  },
  payback: {
    create: 'LendFIL/PaybackPaymentChannel',
    sign: { pay: 'LendFIL/SignPaybackVoucher' },
    redeem: { pay: 'LendFIL/RedeemPaybackVoucher' },
    settle: { pay: 'LendFIL/SettlePayback' },
    collect: { pay: 'LendFIL/CollectPayback' },
  },
} as const

/** Every event name that a record can have. */
export const RECORD_EVENTS: readonly string[] = [
  ...Object.values(KINDS_OF_ROLE).flat(),
  ...Object.values(CHANNEL_RECORDS).flatMap(({ create, sign, redeem, settle, collect }) => [
    create,
    ...[sign, redeem, settle, collect].flatMap((names) => Object.values<string>(names)),
  ]),
]
