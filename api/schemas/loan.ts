import { z } from 'zod'
import { activityRecord } from './activity.ts'
import { isoTime } from './common.ts'

const known = z.string().nullable()

/** All numbers are strings; what is not known is null. Amounts are decimal text in whole units. */
const erc20Loan = z.strictObject({
  id: z.string(),
  contractLoanId: z.string(),
  borrower: known,
  lender: known,
  filBorrower: known,
  filLender: known,
  secretHashA1: known,
  secretHashB1: known,
  secretA1: known,
  secretB1: known,
  loanExpiration: known,
  acceptExpiration: known,
  loanExpirationPeriod: known,
  principalAmount: known,
  interestAmount: known,
  collateralAmount: known,
  paymentChannelId: known,
  state: known,
  blockchain: known,
  networkId: known,
  erc20LoansContract: known,
  token: known,
  createdAt: isoTime,
  updatedAt: isoTime,
})

const collateralLock = z.strictObject({
  id: z.string(),
  contractLoanId: z.string(),
  paymentChannelId: known,
  borrower: known,
  lender: known,
  filBorrower: known,
  filLender: known,
  secretHashA1: known,
  secretHashB1: known,
  secretA1: known,
  secretB1: known,
  loanExpiration: known,
  loanExpirationPeriod: known,
  collateralAmount: known,
  principalAmount: known,
  interestRate: known,
  lockPrice: known,
  liquidationPrice: known,
  state: known,
  blockchain: known,
  networkId: known,
  collateralLockContractAddress: known,
  token: known,
  createdAt: isoTime,
  updatedAt: isoTime,
})

/** A part that does not exist (yet). */
const nothing = z.strictObject({})

export const erc20LoanAnswer = z.strictObject({
  status: z.literal('OK'),
  payload: z.strictObject({ erc20Loan, filCollateral: nothing, loanEvents: z.array(activityRecord) }),
})

export const filLoanAnswer = z.strictObject({
  status: z.literal('OK'),
  payload: z.strictObject({
    collateralLock,
    filLoan: nothing,
    filPayback: nothing,
    loanEvents: z.array(activityRecord),
  }),
})
