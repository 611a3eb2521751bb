import * as z from 'zod'
import { COLLATERAL_LOCK, ERC20_LOAN } from '../../shared/events/loan-parts.ts'
import { activityRecord, MOST_LOAN_EVENTS } from './activity.ts'
import { asOf } from './as-of.ts'
import { createdAt, updatedAt } from './common.ts'
import { CHANNEL_FIELDS, CONTRACT_FIELDS, exampleOf, fields } from './loan-fields.ts'

const times = { createdAt, updatedAt }
const id = z.string().meta({ description: "The loan's key, as the lookup takes it", examples: ['1'] })
const contractLoanId = z.string().meta({
  description: "The contract's bare number of the loan",
  examples: ['1'],
})
const channelId = {
  id: z.string().meta({ description: "This index's number of the channel", examples: ['11'] }),
}

/** One part of a loan. Its example is made of those of its fields. */
const part = <T extends z.ZodRawShape & Record<string, z.ZodType>>(
  shape: T,
  id: string,
  description: string,
) => z.strictObject(shape).meta({ id, description, examples: [exampleOf(shape)] })

/** All numbers are strings; unknown values are null. Amounts are decimal text in whole units. */
const erc20LoanShape = {
  id,
  ...fields(CONTRACT_FIELDS, ERC20_LOAN, {
    state: [
      "0 funded, 0.5 the borrower's collateral voucher is known, 1 approved, 2 withdrawn, 3 repaid, 4 payback refunded, 5 closed, 6 cancelled",
      '4',
    ],
  }),
  contractLoanId,
  ...times,
}
export const erc20Loan = part(erc20LoanShape, 'Erc20Loan', "The contract's half of a loan of tokens")

const collateralLockShape = {
  id,
  ...fields(CONTRACT_FIELDS, COLLATERAL_LOCK, {
    collateralAmount: ['Collateral, whole units of the token', '120.5'],
    principalAmount: ['Lent amount, whole FIL', '60'],
    state: ["0 funded, 0.5 the lender's channel is known, 1 locked, 2 seized, 3 closed, 4 cancelled", '1'],
  }),
  contractLoanId,
  ...times,
}
export const collateralLock = part(
  collateralLockShape,
  'CollateralLock',
  "The contract's half of a loan of FIL",
)

const filCollateralShape = {
  ...channelId,
  ...fields(
    CHANNEL_FIELDS,
    [
      'paymentChannelId',
      'paymentChannelAddress',
      'ethBorrower',
      'ethLender',
      'filBorrower',
      'filLender',
      'amount',
      'txHash',
      'secretHashA1',
      'secretA1',
      'secretB1',
      'signedVoucher',
      'unlockSignedVoucher',
      'network',
      'settlingAtHeight',
      'settlingAtEstTimestamp',
      'erc20LoanId',
      'erc20LoanContractId',
      'erc20LoansContract',
      'erc20LoansNetworkId',
      'state',
    ],
    {
      signedVoucher: ["The borrower's voucher that lets the lender seize, base64 of its CBOR", null],
      state: [
        '0 channel made, 1 seize voucher signed, 2 unlock voucher signed, 3 unlock redeemed, 4 settling to unlock, 5 collected, 6 seize redeemed, 7 settling to seize, 8 collected by seizure',
        '8',
      ],
    },
  ),
  ...times,
}
export const filCollateral = part(
  filCollateralShape,
  'FilCollateral',
  'The channel that holds the FIL collateral of a loan of tokens',
)

const LOCK = [
  'collateralLockId',
  'collateralLockContractId',
  'collateralLockContractAddress',
  'collateralLockNetworkId',
] as const
const PAY_STATE = ['0 channel made, 1 voucher signed, 2 redeemed, 3 settling, 4 collected', '4'] as const

const filLoanShape = {
  ...channelId,
  ...fields(
    CHANNEL_FIELDS,
    [
      'paymentChannelId',
      'paymentChannelAddress',
      'filLender',
      'filBorrower',
      'ethLender',
      'ethBorrower',
      'lockedAmount',
      'network',
      'secretHashB1',
      'principalAmount',
      'txHash',
      ...LOCK,
      'signedVoucher',
      'secretA1',
      'settlingAtHeight',
      'settlingAtEstTimestamp',
      'state',
    ],
    { state: PAY_STATE },
  ),
  ...times,
}
export const filLoan = part(filLoanShape, 'FilLoan', 'The channel that lends the FIL')

const filPaybackShape = {
  ...channelId,
  ...fields(
    CHANNEL_FIELDS,
    [
      'paymentChannelId',
      'paymentChannelAddress',
      'filLender',
      'filBorrower',
      'amount',
      'txHash',
      'secretHashB1',
      'secretB1',
      'signedVoucher',
      'network',
      'settlingAtHeight',
      'settlingAtEstTimestamp',
      ...LOCK,
      'state',
    ],
    { state: PAY_STATE },
  ),
  ...times,
}
export const filPayback = part(filPaybackShape, 'FilPayback', 'The channel that pays the lent FIL back')

/** A part that does not exist (yet). */
export const nothing = z
  .strictObject({})
  .meta({ id: 'Nothing', description: 'A part that does not exist yet' })

export const lookupQuery = z.strictObject({
  asOf,
  explain: z
    .string()
    .refine((text) => text === '1', 'explain must be 1')
    .optional()
    .meta({ description: '1 adds `explain`: the records that set each field', examples: ['1'] }),
})

const explain = z
  .record(
    z.string(),
    z.record(z.string(), z.array(z.int().positive()).meta({ description: 'Ids of records, oldest first' })),
  )
  .optional()
  .meta({ description: 'Only with `explain=1`: for each part, the records that set each field' })

const loanEvents = {
  loanEvents: z
    .array(activityRecord)
    .max(MOST_LOAN_EVENTS)
    .meta({ description: "The loan's newest records, oldest first", examples: [[]] }),
  loanEventsTotal: z
    .int()
    .min(0)
    .meta({
      description: "Number of the loan's records; /api/activity?loanId= pages through all of them",
      examples: [0],
    }),
}

const erc20Payload = { erc20Loan, filCollateral: z.union([filCollateral, nothing]), ...loanEvents }
export const erc20LoanAnswer = z
  .strictObject({ status: z.literal('OK'), payload: z.strictObject(erc20Payload), explain })
  .meta({
    id: 'Erc20LoanAnswer',
    description: 'A loan of tokens against FIL',
    examples: [
      {
        status: 'OK',
        payload: {
          erc20Loan: exampleOf(erc20LoanShape),
          filCollateral: exampleOf(filCollateralShape),
          ...exampleOf(loanEvents),
        },
      },
    ],
  })

const filPayload = {
  collateralLock,
  filLoan: z.union([filLoan, nothing]),
  filPayback: z.union([filPayback, nothing]),
  ...loanEvents,
}
export const filLoanAnswer = z
  .strictObject({ status: z.literal('OK'), payload: z.strictObject(filPayload), explain })
  .meta({
    id: 'FilLoanAnswer',
    description: 'A loan of FIL against tokens',
    examples: [
      {
        status: 'OK',
        payload: {
          collateralLock: exampleOf(collateralLockShape),
          filLoan: exampleOf(filLoanShape),
          filPayback: exampleOf(filPaybackShape),
          ...exampleOf(loanEvents),
        },
      },
    ],
  })
