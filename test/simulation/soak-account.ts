import { markdownTable } from '../helpers/markdown-table.ts'
import type { Sample } from './soak-sample.ts'

/** The first minutes fill pools, caches and code, so they show no growth. */
const WARM_UP_SHARE = 0.25

/** (pure) Summarizes the growth over many samples in Markdown. It needs two samples after the warm-up. */
export function soakAccount(samples: readonly Sample[]): string {
  const last = samples.at(-1)
  const settled = samples.filter(({ minutes }) => minutes >= (last?.minutes ?? 0) * WARM_UP_SHARE)
  const [first] = settled
  if (first === undefined || last === undefined || first === last)
    throw new Error('too few samples of a soak')
  const perHour = (last.records - first.records) / ((last.minutes - first.minutes) / 60)
  return [
    `${samples.length} samples in ${last.minutes.toFixed(1)} minutes; from minute ${first.minutes.toFixed(1)} on, ` +
      `${last.records - first.records} records more (${perHour.toFixed(0)} an hour), ${last.records} in the end.`,
    heldTable(settled),
    tablesTable(settled, first, last),
  ].join('\n\n')
}

function heldTable(settled: readonly Sample[]): string {
  const names = new Set(settled.flatMap(({ held }) => Object.keys(held)))
  const rows = [...names].map((name) => {
    const points = settled.flatMap(({ minutes, held }) => {
      const value = held[name]
      return value === undefined ? [] : [[minutes / 60, value] as const]
    })
    const values = points.map(([, value]) => value)
    const [least, most] = [Math.min(...values), Math.max(...values)]
    return [name, shown(values[0]), shown(least), shown(most), shown(values.at(-1)), slope(points).toFixed(2)]
  })
  return markdownTable(['held', 'after the warm-up', 'least', 'most', 'last', 'slope, per hour'], rows)
}

function tablesTable(settled: readonly Sample[], first: Sample, last: Sample): string {
  const rows = Object.keys(last.tables).map((name) => {
    const of = (pick: 'tableBytes' | 'indexBytes'): string[] => {
      const points = settled.flatMap(({ records, tables }) => {
        const size = tables[name]
        return size === undefined ? [] : [[records, size[pick]] as const]
      })
      const [before, after] = [first.tables[name]?.[pick] ?? 0, last.tables[name]?.[pick] ?? 0]
      return [kibibytes(before), kibibytes(after), slope(points).toFixed(1)]
    }
    const { rows: count = 0, deadRows = 0 } = last.tables[name] ?? {}
    return [name, ...of('tableBytes'), ...of('indexBytes'), `${count}`, `${deadRows}`]
  })
  return markdownTable(
    [
      ...['table', 'KiB after the warm-up', 'KiB last', 'bytes per record'],
      ...['indexes: KiB after the warm-up', 'KiB last', 'bytes per record', 'rows', 'dead rows'],
    ],
    rows,
  )
}

/** Slope of the least-squares line: the increase of y for each 1 of x. 0 when all points share one x. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (pick: 0 | 1): number => points.reduce((sum, point) => sum + point[pick], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return spread === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread
}

function shown(value: number | undefined): string {
  return value === undefined ? '-' : `${value}`
}

function kibibytes(bytes: number): string {
  return (bytes / 1024).toFixed(0)
}
