import type * as z from 'zod'
import { csvLine } from '../../shared/csv.ts'
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
  head: csvLine(COLUMNS),
  line: (record) => csvLine(COLUMNS.map((column) => record[column])),
}

/** One JSON object a line, as the pages have them. */
const NDJSON: ExportFormat = {
  contentType: 'application/x-ndjson; charset=utf-8',
  head: '',
  line: (record) => `${JSON.stringify(record)}\n`,
}

export const EXPORT_FORMATS = { 'text/csv': CSV, 'application/x-ndjson': NDJSON }
