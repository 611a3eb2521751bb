import * as z from 'zod'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { listOfState } from '../../shared/events/loan-lists.ts'
import { account } from './accounts.ts'
import { asOf } from './as-of.ts'
import { collateralLock, erc20Loan, filCollateral, filLoan, filPayback, nothing } from './loan.ts'
import { CHANNEL_FIELDS, CONTRACT_FIELDS, exampleOf, fields } from './loan-fields.ts'
import { notOneOf } from './parameters.ts'

/** States of the contracts' halves as lookups show them. The first two are those of an order that nobody took yet. */
const STATES: Record<LoanType, readonly string[]> = {
  ERC20FIL: ['0', '0.5', '1', '2', '3', '4', '5', '6'],
  FILERC20: ['0', '0.5', '1', '2', '3', '4'],
}
const OPEN_STATES = 2

/** The parameters of a list of orders; `state` becomes the lists to read. */
export function orderParams(loanType: LoanType) {
  const states = STATES[loanType]
  const known = ['available', 'closed', ...states]
  return z.object({
    state: z
      .string()
      .refine((text) => known.includes(text), notOneOf('state', known))
      .meta({
        enum: known,
        description:
          '`available`: nobody took it yet; `closed`: every later state; or a state as in the answers',
        examples: ['available'],
      })
      .transform((text) => listsOf(loanType, states, text)),
  })
}

function listsOf(loanType: LoanType, states: readonly string[], wanted: string): string[] {
  const chosen =
    wanted === 'available'
      ? states.slice(0, OPEN_STATES)
      : wanted === 'closed'
        ? states.slice(OPEN_STATES)
        : [wanted]
  return chosen.map((state) => listOfState(loanType, state))
}

export const accountParams = z.object({ account })

export const loanPageQuery = z.strictObject({
  before: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'before must be the `next` of another page')
    .optional()
    .meta({ description: 'The `next` of the page before', examples: ['282'] }),
  limit: z
    .string()
    .regex(/^([1-9]\d?|1\d\d|200)$/, 'limit must be an integer from 1 to 200')
    .meta({ description: 'Loans of a page, 1 to 200', examples: ['100'] })
    .default('100')
    .transform(Number),
  asOf,
})

const next = z
  .int()
  .positive()
  .nullable()
  .meta({ description: "The next page's `before`; null on the last page" })

const newestFirst = { description: 'The newest loan first' }

function ordersAnswer<T extends z.ZodType>(id: string, description: string, half: T) {
  const [example] = (half.meta()?.['examples'] ?? []) as unknown[]
  return z
    .strictObject({ status: z.literal('OK'), payload: z.array(half).max(200).meta(newestFirst), next })
    .meta({ id, description, examples: [{ status: 'OK', payload: [example], next: null }] })
}

export const borrowOrders = ordersAnswer('BorrowOrders', 'Requests to borrow FIL', collateralLock)
export const lendOrders = ordersAnswer('LendOrders', 'Offers to lend tokens', erc20Loan)

const id = z.string().meta({ description: "The loan's key, as the lookup takes it", examples: ['1'] })

const erc20EntryShape = {
  id,
  ...fields(CONTRACT_FIELDS, [
    ...(['principalAmount', 'interestAmount', 'borrower', 'lender', 'token', 'networkId', 'state'] as const),
  ]),
  erc20Loan,
  filCollateral: z.union([filCollateral, nothing]).meta({ examples: [{}] }),
}
const erc20Entry = z.strictObject(erc20EntryShape).meta({
  id: 'Erc20LoanEntry',
  description: "A loan of tokens in an account's list: what a list shows, and the parts of its lookup",
  examples: [exampleOf(erc20EntryShape)],
})

const filEntryShape = {
  id,
  ...fields(CHANNEL_FIELDS, ['principalAmount', 'network', 'ethBorrower', 'ethLender', 'state'], {
    principalAmount: ['FIL that the voucher lends, or that the request asks for; whole FIL', '60'],
    state: ['State of the channel that lends the FIL; null without one', '1'],
  }),
  collateralLock,
  filLoan: z.union([filLoan, nothing]).meta({ examples: [{}] }),
  filPayback: z.union([filPayback, nothing]).meta({ examples: [{}] }),
}
const filEntry = z.strictObject(filEntryShape).meta({
  id: 'FilLoanEntry',
  description: "A loan of FIL in an account's list: what a list shows, and the parts of its lookup",
  examples: [exampleOf(filEntryShape)],
})

export const accountLoans = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.strictObject({
      filLoans: z.array(filEntry).max(200).meta(newestFirst),
      erc20Loans: z.array(erc20Entry).max(200).meta(newestFirst),
    }),
    next,
  })
  .meta({
    id: 'AccountLoans',
    description:
      'Loans that the account borrows or lends, a page of both markets together; empty for an unknown account',
    examples: [
      {
        status: 'OK',
        payload: { filLoans: [exampleOf(filEntryShape)], erc20Loans: [exampleOf(erc20EntryShape)] },
        next: null,
      },
    ],
  })

const contract = z
  .strictObject({ address: z.string().meta({ description: 'EIP-55' }) })
  .meta({ id: 'Contract', description: 'A deployed contract' })

export const protocolContracts = z
  .strictObject({
    status: z.literal('OK'),
    payload: z
      .record(z.string(), z.partialRecord(z.enum(['ERC20Loans', 'ERC20CollateralLock']), contract))
      .meta({ description: 'Keys are EVM chain ids' }),
  })
  .meta({
    id: 'ProtocolContracts',
    description: 'The contracts of each EVM chain',
    examples: [
      {
        status: 'OK',
        payload: {
          31337: {
            ERC20Loans: { address: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9' },
            ERC20CollateralLock: { address: '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707' },
          },
        },
      },
    ],
  })
