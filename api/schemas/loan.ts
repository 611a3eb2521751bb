import * as z from 'zod'
import { COLLATERAL_LOCK, eachField, ERC20_LOAN } from '../../shared/events/loan-parts.ts'
import { activityRecord, MOST_LOAN_EVENTS } from './activity.ts'
import { isoTime } from './common.ts'

const known = z.string().nullable()

const times = { createdAt: isoTime, updatedAt: isoTime }

/** All numbers are strings; unknown values are null. Amounts are decimal text in whole units. */
const contractHalf = <Name extends string>(names: readonly Name[]) =>
  z.strictObject({ id: z.string(), ...eachField(names, known), contractLoanId: z.string(), ...times })
const erc20Loan = contractHalf(ERC20_LOAN)
const collateralLock = contractHalf(COLLATERAL_LOCK)

const settling = {
  /** The epoch from which the channel can be collected; null until it is settled. */
  settlingAtHeight: known,
  /** That epoch's estimated time, Unix seconds. */
  settlingAtEstTimestamp: known,
}

/** The channel that holds the FIL collateral of a token loan. */
const filCollateral = z.strictObject({
  id: z.string(),
  paymentChannelId: known,
  paymentChannelAddress: known,
  ethBorrower: known,
  ethLender: known,
  filBorrower: known,
  filLender: known,
  amount: known,
  txHash: known,
  secretHashA1: known,
  secretA1: known,
  secretB1: known,
  signedVoucher: known,
  unlockSignedVoucher: known,
  network: known,
  ...settling,
  erc20LoanId: known,
  erc20LoanContractId: known,
  erc20LoansContract: known,
  erc20LoansNetworkId: known,
  state: known,
  ...times,
})

const lock = {
  collateralLockId: known,
  collateralLockContractId: known,
  collateralLockContractAddress: known,
  collateralLockNetworkId: known,
}

/** The channel that lends the FIL. */
const filLoan = z.strictObject({
  id: z.string(),
  paymentChannelId: known,
  paymentChannelAddress: known,
  filLender: known,
  filBorrower: known,
  ethLender: known,
  ethBorrower: known,
  lockedAmount: known,
  network: known,
  secretHashB1: known,
  principalAmount: known,
  txHash: known,
  ...lock,
  signedVoucher: known,
  secretA1: known,
  ...settling,
  state: known,
  ...times,
})

/** The channel that pays the lent FIL back. */
const filPayback = z.strictObject({
  id: z.string(),
  paymentChannelId: known,
  paymentChannelAddress: known,
  filLender: known,
  filBorrower: known,
  amount: known,
  txHash: known,
  secretHashB1: known,
  secretB1: known,
  signedVoucher: known,
  network: known,
  ...settling,
  ...lock,
  state: known,
  ...times,
})

/** A part that does not exist (yet). */
const nothing = z.strictObject({})

const loanEvents = {
  /** The loan's newest records, oldest first. */
  loanEvents: z.array(activityRecord).max(MOST_LOAN_EVENTS),
  /** Number of the loan's records; `/api/activity?loanId=` pages through all of them. */
  loanEventsTotal: z.int().min(0),
}

export const erc20LoanAnswer = z.strictObject({
  status: z.literal('OK'),
  payload: z.strictObject({
    erc20Loan,
    filCollateral: z.union([filCollateral, nothing]),
    ...loanEvents,
  }),
})

export const filLoanAnswer = z.strictObject({
  status: z.literal('OK'),
  payload: z.strictObject({
    collateralLock,
    filLoan: z.union([filLoan, nothing]),
    filPayback: z.union([filPayback, nothing]),
    ...loanEvents,
  }),
})
