import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import { clientOf, type Trx } from './transaction.ts'

/** Numbers are safe integers; JSON is passed as its text. */
export type CopiedValue = string | number | Date | null

/** Characters of rows that are sent together. */
const PART_CHARACTERS = 64 * 1024

/**
 * Adds rows to a table by COPY, which costs Postgres a fraction of an INSERT's time. All rows must have the columns of
 * the first. Throws a RangeError for an unsafe integer or an invalid date.
 */
export async function copyRows(
  trx: Trx,
  table: string,
  rows: readonly Readonly<Record<string, CopiedValue>>[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const { sql: statement } = sql`copy ${sql.table(table)} (${names}) from stdin`.compile(trx)
  await pipeline(Readable.from(partsOf(columns, rows)), clientOf(trx).copyFrom(statement))
}

/** Rows in the text format of COPY. */
function* partsOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, CopiedValue>>[],
): Generator<string> {
  let part = ''
  for (const row of rows) {
    part += `${columns.map((column) => textOf(row[column] ?? null)).join('\t')}\n`
    if (part.length < PART_CHARACTERS) continue
    yield part
    part = ''
  }
  if (part !== '') yield part
}

function textOf(value: CopiedValue): string {
  if (value === null) return '\\N'
  if (typeof value === 'string') return escaped(value)
  if (value instanceof Date) return value.toISOString()
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no safe integer`)
  return String(value)
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character)
}
