import * as z from 'zod'
import { MAX_TX_HASH } from '../../shared/events/event-place.ts'
import { isoTime } from './common.ts'

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
  loanType: z.enum(['ERC20FIL', 'FILERC20']),
  createdAt: isoTime,
  updatedAt: isoTime,
})

export const historyAnswer = z.strictObject({
  status: z.literal('OK'),
  /** Newest first, at most 25. */
  payload: z.array(activityRecord).max(25),
  pages: z.int().min(0),
})

/** A value that no record has is a search without results and not a mistake; Postgres has no text with a NUL. */
const filter = (length: number) =>
  z
    .string()
    .min(1)
    .max(length)
    .refine((text) => !text.includes('\0'), 'must not contain a NUL')
    .optional()

/**
 * As records have it: hashes in lower case; and no text has a space, but in a query an unescaped `+` of a voucher is one.
 */
function asKept(txHash: string | undefined): string | undefined {
  return txHash !== undefined && /^0x[0-9a-f]{64}$/i.test(txHash)
    ? txHash.toLowerCase()
    : txHash?.replaceAll(' ', '+')
}

export const searchQuery = z.strictObject({
  before: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'must be the id of a record')
    .optional(),
  limit: z
    .string()
    .regex(/^([1-9]\d?|1\d\d|200)$/, 'must be a number from 1 to 200')
    .default('25')
    .transform(Number),
  loanId: filter(200),
  loanType: z.enum(['ERC20FIL', 'FILERC20']).optional(),
  event: filter(200),
  blockchain: filter(200),
  networkId: filter(200),
  txHash: filter(MAX_TX_HASH).transform(asKept),
})

export const searchAnswer = z.strictObject({
  status: z.literal('OK'),
  /** Newest first. */
  payload: z.array(activityRecord).max(200),
  /** What to give as `before` for the page that follows; null on the last. */
  next: z.int().positive().nullable(),
})
