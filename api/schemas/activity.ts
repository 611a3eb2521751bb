import * as z from 'zod'
import { MAX_TX_HASH } from '../../shared/events/event-place.ts'
import { RECORD_EVENTS } from '../../shared/events/record-events.ts'
import { account } from './accounts.ts'
import { asOf } from './as-of.ts'
import { createdAt, isDay, storableTime, updatedAt } from './common.ts'
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
    event: z.string().meta({ description: 'The kind of event; the parameter `event` lists all names' }),
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

export const loanType = oneOf('loanType', LOAN_TYPES)

/**
 * Normalizes a query's value to the form in records: hashes are lower case. An unescaped `+` of a voucher arrives as a
 * space, which no stored text contains.
 */
function asKept(txHash: string): string {
  return /^0x[0-9a-f]{64}$/i.test(txHash) ? txHash.toLowerCase() : txHash.replaceAll(' ', '+')
}

/** Values of one filter at most. */
const MOST_VALUES = 32

/** A filter that may be given several times. */
export const several = <T extends z.ZodType>(
  name: string,
  one: T,
  said: { description: string; example: string },
) =>
  z
    .preprocess(
      (given) => (typeof given === 'string' ? [given] : given),
      z
        .array(one)
        .max(MOST_VALUES, `${name} may be given at most ${MOST_VALUES} times`)
        .transform((values) => [...new Set(values)].sort()),
    )
    .meta({ description: said.description, examples: [[said.example]] })
    .optional()

const DAY_MS = 24 * 60 * 60 * 1000
const isTime = (text: string): boolean => z.iso.datetime({ offset: true }).safeParse(text).success

/** An ISO time or day. A day means its first moment, or its last one with `atEnd`. An unescaped `+` arrives as a space. */
const moment = (name: string, said: { description: string; example: string; atEnd: boolean }) =>
  z
    .string()
    .transform((text) => text.replace(' ', '+'))
    .refine(
      (text) => isDay(text) || isTime(text),
      `${name} must be an ISO time with its zone, such as 2026-11-21T17:48:47Z, or a day, such as 2026-11-21`,
    )
    .transform((text) => Date.parse(text) + (said.atEnd && isDay(text) ? DAY_MS - 1 : 0))
    .transform(storableTime)
    .meta({ description: said.description, examples: [said.example] })
    .optional()

const recordIdText = (name: string) =>
  z.string().regex(/^[1-9]\d{0,17}$/, `${name} must be the id of a record`)

/** Records of a page when `limit` is not given. */
export const PAGE_RECORDS = 25

/** `blockchain` and `networkId` are closed sets as well, but only the database knows their values. */
export const searchQuery = z
  .strictObject({
    before: recordIdText('before')
      .optional()
      .meta({
        description: 'Only records with a smaller id: the `next` of the page before',
        examples: ['282000000'],
      }),
    after: recordIdText('after')
      .optional()
      .meta({
        description:
          'Only records with a larger id, oldest first: the `next` of the page before, or the last id that is known',
        examples: ['1000000'],
      }),
    limit: z
      .string()
      .regex(/^([1-9]\d?|1\d\d|200)$/, 'limit must be an integer from 1 to 200')
      .meta({ description: `Records of a page, 1 to 200; ${PAGE_RECORDS} when omitted`, examples: ['25'] })
      .transform(Number)
      .optional(),
    loanId: several('loanId', loanId, { description: 'Loans of either market', example: '1' }),
    loanType: several('loanType', loanType, {
      ...{ description: 'Markets', example: 'ERC20FIL' },
    }),
    event: several('event', oneOf('event', RECORD_EVENTS), {
      ...{ description: 'The kind of event', example: 'CreateLoanOffer' },
    }),
    blockchain: several('blockchain', text('blockchain', 64), {
      ...{ description: 'Names of configured or indexed chains', example: 'DEVNET' },
    }),
    networkId: several('networkId', text('networkId', 64), {
      ...{ description: 'Networks of configured or indexed chains', example: '31337' },
    }),
    txHash: several('txHash', text('txHash', MAX_TX_HASH).transform(asKept), {
      ...{ description: 'As in the record; hex in any case', example: RECORD.txHash },
    }),
    account: several('account', account, {
      description:
        'Records of the loans that the account borrows or lends: an EVM address with or without its checksum, or a Filecoin address with either letter',
      example: '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853',
    }),
    from: moment('from', {
      ...{
        description: 'Only records with this `createdAt` or a later one',
        example: '2026-11-21T17:48:47Z',
      },
      atEnd: false,
    }),
    to: moment('to', {
      description: 'Only records with this `createdAt` or an earlier one; a day means all of it',
      ...{ example: '2030-11-21', atEnd: true },
    }),
    asOf,
  })
  .refine(
    ({ from, to }) => from === undefined || to === undefined || from <= to,
    'from must not be later than to',
  )

export const searchAnswer = z
  .strictObject({
    status: z.literal('OK'),
    payload: z
      .array(activityRecord)
      .max(200)
      .meta({ description: 'Newest first; oldest first with `after`' }),
    next: recordId.nullable().meta({
      description: "The next page's `before`, or its `after` where that was given; null on the last page",
    }),
  })
  .meta({
    id: 'SearchAnswer',
    description:
      'Records that fit all filters; a page can be shorter than its limit, so `next` alone says whether one follows',
    examples: [{ status: 'OK', payload: [RECORD], next: 282000000 }],
  })

export type SearchAnswer = z.infer<typeof searchAnswer>

const EXPORTS = {
  'text/csv': {
    schema: {
      type: 'string',
      description: 'RFC 4180 with a line of names; the fields and order of a record',
    },
    example: `${Object.keys(RECORD).join(',')}\r\n${Object.values(RECORD).join(',')}\r\n`,
  },
  'application/x-ndjson': {
    schema: { type: 'string', description: 'One record a line, as JSON' },
    example: `${JSON.stringify(RECORD)}\n`,
  },
}

/** Adds the media types of an export to the answer of a search. */
export function withExports(answers: Record<string, unknown>): Record<string, unknown> {
  const ok = answers['200'] as { content: object }
  return { ...answers, 200: { ...ok, content: { ...ok.content, ...EXPORTS } } }
}
