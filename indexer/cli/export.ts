import { once } from 'node:events'
import { csvLine } from '../../shared/csv.ts'
import { inOneState, type Trx } from '../../shared/db/transaction.ts'
import { createProgress, withDatabase } from './context.ts'
import { countOf } from './count-of.ts'
import {
  getGreatestId,
  getLoansToExport,
  getRecordsAfter,
  type ExportedLoan,
  type ExportedRecord,
  type ExportPage,
} from './export.store.ts'

export const EXPORTED = ['activity', 'loans'] as const
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const

/** What is exported, and how a row becomes the cells of a line. */
interface Kind<Row> {
  noun: string
  page: (trx: Trx, after: number) => Promise<ExportPage<Row>>
  columns: readonly string[]
  cells: (row: Row) => (string | number | null)[]
}

const RECORD_FIELDS = [
  ...['id', 'txHash', 'event', 'loanId', 'blockchain', 'networkId'],
  ...['contractAddress', 'loanType', 'createdAt', 'updatedAt'],
]
const ACTIVITY: Kind<ExportedRecord> = {
  ...{ noun: 'record', page: getRecordsAfter, columns: RECORD_FIELDS },
  cells: (record) => RECORD_FIELDS.map((field) => record[field] ?? null),
}

/** Fields of the contract's half that both loan types have, so that a table has them as columns. */
const CONTRACT_FIELDS = ['state', 'borrower', 'lender', 'token', 'principalAmount', 'interestAmount']
const LOANS: Kind<ExportedLoan> = {
  ...{ noun: 'loan', page: getLoansToExport },
  columns: ['loanType', 'loanId', 'network', ...CONTRACT_FIELDS, 'createdAt', 'updatedAt'],
  cells: ({ loanType, loanId, network, contract, createdAt, updatedAt }) => [
    ...[loanType, loanId, network],
    ...CONTRACT_FIELDS.map((field) => contract[field] ?? null),
    ...[createdAt, updatedAt],
  ],
}

/**
 * Writes all records or loans to standard output in the order of their ids, as they are in one snapshot. Sets exit code
 * 1 when interrupted, also by a reader that leaves.
 */
export async function runExport(
  what: (typeof EXPORTED)[number],
  { format }: { format: (typeof EXPORT_FORMATS)[number] },
): Promise<void> {
  await withDatabase(({ db, signal }) =>
    inOneState(db, async (trx) => {
      const greatest = await getGreatestId(trx, what)
      const isWhole =
        what === 'activity'
          ? await write(trx, ACTIVITY, format, greatest, signal)
          : await write(trx, LOANS, format, greatest, signal)
      if (!isWhole) process.exitCode = 1
    }),
  )
}

/** Returns false if it was interrupted. */
async function write<Row>(
  trx: Trx,
  { noun, page, columns, cells }: Kind<Row>,
  format: 'ndjson' | 'csv',
  greatest: number,
  signal: AbortSignal,
): Promise<boolean> {
  const progress = createProgress()
  const out = openOutput()
  const lineOf = (row: Row): string => (format === 'csv' ? csvLine(cells(row)) : `${JSON.stringify(row)}\n`)
  if (format === 'csv') await out.write(csvLine(columns))
  let written = 0
  for (let after = 0; !signal.aborted && !out.isClosed();) {
    const { rows, last } = await page(trx, after)
    if (rows.length === 0) break
    await out.write(rows.map(lineOf).join(''))
    written += rows.length
    after = last
    progress.show(`${countOf(written, noun)} written`, { done: after, total: greatest })
  }
  progress.end()
  const isWhole = !signal.aborted && !out.isClosed()
  if (!isWhole) console.error(`interrupted: ${countOf(written, noun)} written`)
  return isWhole
}

/** Standard output, which is waited for; a reader that leaves, such as \`head\`, is no error. */
function openOutput(): { write: (text: string) => Promise<void>; isClosed: () => boolean } {
  let isClosed = false
  const closed = new Promise<void>((resolve) => {
    process.stdout.on('error', () => {
      isClosed = true
      resolve()
    })
  })
  return {
    write: async (text) => {
      if (!isClosed && !process.stdout.write(text))
        await Promise.race([once(process.stdout, 'drain'), closed])
    },
    isClosed: () => isClosed,
  }
}
