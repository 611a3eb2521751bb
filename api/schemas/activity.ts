import * as z from 'zod'
import { MAX_TX_HASH } from '../../shared/events/event-place.ts'
import { RECORD_EVENTS } from '../../shared/events/record-events.ts'
import { createdAt, updatedAt } from './common.ts'
import { loanId, notOneOf } from './parameters.ts'

const LOAN_TYPES = ['ERC20FIL', 'FILERC20'] as const

/** Newest records of a loan that its lookup shows. */
export const MOST_LOAN_EVENTS = 1_000

const RECORD = {
  id: 282000000,
  txHash: '0x004b639d935960a62fc32ffc69cb8b7e97625b79e673244fc5fe080a919e6e32',
  event: 'AcceptOffer',
  loanId: '18',
  blockchain: 'DEVNET',
  networkId: '31337',
  contractAddress: '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707',
  loanType: 'FILERC20',
  createdAt: '2026-11-21T17:48:47.640Z',
  updatedAt: '2026-11-21T17:48:47.640Z',
} as const

const recordId = z.int().positive()

/** Exactly these ten fields, in this order. */
export const activityRecord = z
  .strictObject({
    id: recordId.meta({ description: 'Given once, never reused; ids rise, with gaps' }),
    txHash: z.string().meta({
      description:
        'EVM transaction hash, CID of a Filecoin message, or an off-chain voucher itself in base64',
    }),
    event: z.string().meta({ description: 'What happened; the parameter `event` lists all names' }),
    loanId: z.string().meta({ description: "The value that the loan's lookup takes" }),
    blockchain: z.string().meta({ description: "The chain's configured name; FIL for Filecoin" }),
    networkId: z
      .string()
      .meta({ description: 'EVM chain id in decimal, or the name of the Filecoin network' }),
    contractAddress: z.string().nullable().meta({ description: 'EIP-55 address; null on Filecoin' }),
    loanType: z.enum(LOAN_TYPES).meta({ description: 'ERC20FIL: tokens are lent; FILERC20: FIL is lent' }),
    createdAt,
    updatedAt,
  })
  .meta({ id: 'ActivityRecord', description: 'One thing that happened to a loan', examples: [RECORD] })

export const historyAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.array(activityRecord).max(25).meta({ description: 'Newest first' }),
    pages: z.int().min(0).meta({ description: 'Number of pages; 0 without records' }),
  })
  .meta({
    id: 'HistoryAnswer',
    description: 'One page of the history; empty past the last one',
    examples: [{ status: 'OK', payload: [RECORD], pages: 12 }],
  })

/** Postgres text cannot hold a NUL. */
const text = (name: string, length: number) =>
  z
    .string()
    .min(1, `${name} must not be empty`)
    .max(length, `${name} must have at most ${length} characters`)
    .refine((value) => !value.includes('\0'), `${name} must not contain a NUL`)

const oneOf = (name: string, known: readonly string[]) =>
  z
    .string()
    .refine((value) => known.includes(value), notOneOf(name, known))
    .meta({ enum: known })

/**
 * Normalizes a query's value to the form in records: hashes are lower case. An unescaped `+` of a voucher arrives as a
 * space, which no stored text contains.
 */
function asKept(txHash: string): string {
  return /^0x[0-9a-f]{64}$/i.test(txHash) ? txHash.toLowerCase() : txHash.replaceAll(' ', '+')
}

/** `blockchain` and `networkId` are closed sets as well, but only the database knows their values. */
export const searchQuery = z.strictObject({
  before: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'before must be the id of a record')
    .optional()
    .meta({
      description: 'Only records with a smaller id: the `next` of the page before',
      examples: ['282000000'],
    }),
  limit: z
    .string()
    .regex(/^([1-9]\d?|1\d\d|200)$/, 'limit must be an integer from 1 to 200')
    .meta({ description: 'Records of a page, 1 to 200', examples: ['25'] })
    .default('25')
    .transform(Number),
  loanId: loanId.optional().meta({ description: 'A loan of either market', examples: ['1'] }),
  loanType: oneOf('loanType', LOAN_TYPES)
    .optional()
    .meta({ description: 'A market', examples: ['ERC20FIL'] }),
  event: oneOf('event', RECORD_EVENTS)
    .optional()
    .meta({ description: 'What happened', examples: ['CreateLoanOffer'] }),
  blockchain: text('blockchain', 64)
    .optional()
    .meta({ description: 'The name of a configured or indexed chain', examples: ['DEVNET'] }),
  networkId: text('networkId', 64)
    .optional()
    .meta({ description: 'The network of a configured or indexed chain', examples: ['31337'] }),
  txHash: text('txHash', MAX_TX_HASH)
    .meta({ description: 'As in the record; hex in any case', examples: [RECORD.txHash] })
    .transform(asKept)
    .optional(),
})

export const searchAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z.array(activityRecord).max(200).meta({ description: 'Newest first' }),
    next: recordId.nullable().meta({ description: "The next page's `before`; null on the last page" }),
  })
  .meta({
    id: 'SearchAnswer',
    description: 'Records that fit all filters; a page is shorter than its limit where it would exceed 2 MB',
    examples: [{ status: 'OK', payload: [RECORD], next: 282000000 }],
  })
