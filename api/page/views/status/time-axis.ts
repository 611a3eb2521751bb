/** (pure) The labels below a chart. Times are Unix seconds. */

/** Distances between labels, the smallest first. */
const STEPS_S = [5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const DAY_S = 86_400

/** Round times between two moments, at most so many; midnights in UTC where a value stands for a day. */
export function roundTimes(from: number, to: number, isDaily: boolean, most: number): number[] {
  const steps = isDaily ? [1, 2, 5, 10, 30, 90].map((days) => days * DAY_S) : STEPS_S
  const step = steps.find((one) => (to - from) / one <= most - 1) ?? to - from
  const times: number[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) times.push(at)
  return times
}

export function timeText(at: number, isDaily: boolean): string {
  const date = new Date(at * 1000)
  return isDaily
    ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    : date.toLocaleTimeString('en-GB')
}
