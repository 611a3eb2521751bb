/** (pure) Daily figures as series of a chart. */
import type { DailyFigures } from '../../../../client/generated/types.gen.ts'

export interface Days {
  /** Unix seconds of each day's beginning in UTC, without gaps. */
  at: number[]
  opened: number[]
  closed: number[]
  seized: number[]
  cancelled: number[]
}

const DAY_S = 86_400
/** The fewest and the most days of a chart: an answer may have one day, or span years. */
const LEAST_DAYS = 7
const MOST_DAYS = 366

/** Sums the rows of each day over markets and tokens; a day without a row has zeros. */
export function daysOf(rows: readonly DailyFigures[]): Days {
  const days: Days = { at: [], opened: [], closed: [], seized: [], cancelled: [] }
  const times = rows.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000)
  if (times.length === 0) return days
  const last = Math.max(...times)
  const earliest = Math.min(...times, last - (LEAST_DAYS - 1) * DAY_S)
  const first = Math.max(earliest, last - (MOST_DAYS - 1) * DAY_S)
  for (let at = first; at <= last; at += DAY_S) {
    const ofDay = rows.filter((_, index) => times[index] === at)
    const sum = (field: 'opened' | 'closed' | 'seized' | 'cancelled'): number =>
      ofDay.reduce((total, row) => total + row[field], 0)
    days.at.push(at)
    for (const field of ['opened', 'closed', 'seized', 'cancelled'] as const) days[field].push(sum(field))
  }
  return days
}

/** The bars of a stack, the highest first: each has those below it added. */
export function stacked({
  closed,
  seized,
  cancelled,
}: Days): [all: number[], seizedOn: number[], closed: number[]] {
  const seizedOn = closed.map((count, index) => count + (seized[index] ?? 0))
  return [seizedOn.map((count, index) => count + (cancelled[index] ?? 0)), seizedOn, closed]
}
