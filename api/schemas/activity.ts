import * as z from 'zod'
import { MAX_TX_HASH } from '../../shared/events/event-place.ts'
import { RECORD_EVENTS } from '../../shared/events/record-events.ts'
import { isoTime } from './common.ts'
import { loanId, notOneOf } from './parameters.ts'

const LOAN_TYPES = ['ERC20FIL', 'FILERC20'] as const

/** Newest records of a loan that its lookup shows. */
export const MOST_LOAN_EVENTS = 1_000

/** Exactly these ten fields, in this order. */
export const activityRecord = z.strictObject({
  id: z.int().positive(),
  txHash: z.string(),
  event: z.string(),
  loanId: z.string(),
  blockchain: z.string(),
  networkId: z.string(),
  contractAddress: z.string().nullable(),
  loanType: z.enum(LOAN_TYPES),
  createdAt: isoTime,
  updatedAt: isoTime,
})

export const historyAnswer = z.strictObject({
  status: z.literal('OK'),
  /** Newest first, at most 25. */
  payload: z.array(activityRecord).max(25),
  pages: z.int().min(0),
})

/** Postgres text cannot hold a NUL. */
const text = (name: string, length: number) =>
  z
    .string()
    .min(1, `${name} must not be empty`)
    .max(length, `${name} must have at most ${length} characters`)
    .refine((value) => !value.includes('\0'), `${name} must not contain a NUL`)

const oneOf = (name: string, known: readonly string[]) =>
  z.string().refine((value) => known.includes(value), notOneOf(name, known))

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
    .optional(),
  limit: z
    .string()
    .regex(/^([1-9]\d?|1\d\d|200)$/, 'limit must be an integer from 1 to 200')
    .default('25')
    .transform(Number),
  loanId: loanId.optional(),
  loanType: oneOf('loanType', LOAN_TYPES).optional(),
  event: oneOf('event', RECORD_EVENTS).optional(),
  blockchain: text('blockchain', 64).optional(),
  networkId: text('networkId', 64).optional(),
  txHash: text('txHash', MAX_TX_HASH).transform(asKept).optional(),
})

export const searchAnswer = z.strictObject({
  status: z.literal('OK'),
  /** Newest first. */
  payload: z.array(activityRecord).max(200),
  /** The next page's `before`; null on the last page. */
  next: z.int().positive().nullable(),
})
