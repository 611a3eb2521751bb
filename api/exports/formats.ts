import type * as z from 'zod'
import { activityRecord } from '../schemas/activity.ts'

type ActivityRecord = z.infer<typeof activityRecord>

/** How an export writes records. */
export interface ExportFormat {
  contentType: string
  /** The text before the first record. */
  head: string
  /** The text of one record, with its line end. */
  line: (record: ActivityRecord) => string
}

const COLUMNS = Object.keys(activityRecord.shape) as (keyof ActivityRecord)[]

/** RFC 4180, with a line of column names. */
const CSV: ExportFormat = {
  contentType: 'text/csv; charset=utf-8; header=present',
  head: `${COLUMNS.join(',')}\r\n`,
  line: (record) => `${COLUMNS.map((column) => csvCell(record[column])).join(',')}\r\n`,
}

/** One JSON object a line, as the pages have them. */
const NDJSON: ExportFormat = {
  contentType: 'application/x-ndjson; charset=utf-8',
  head: '',
  line: (record) => `${JSON.stringify(record)}\n`,
}

export const EXPORT_FORMATS = { 'text/csv': CSV, 'application/x-ndjson': NDJSON }

/** A spreadsheet would run a cell that begins so as a formula, also where it is quoted. */
const FORMULA = /^[=+\-@\t\r\n]/
const NEEDS_QUOTES = /[",\r\n]/

/** Writes one cell. An apostrophe before a formula makes it text; an empty cell is null. */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  const harmless = FORMULA.test(text) ? `'${text}` : text
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
