import type { Recovery } from './recovery.ts'
import { markdownTable } from '../helpers/markdown-table.ts'
import type { RunRecord } from './run-record.ts'
import { add, type Tally } from './tally.ts'

/** (pure) Summarizes many runs in Markdown. */
export function sumRuns(runs: readonly RunRecord[]): string {
  const failed = runs.filter(({ complaints }) => complaints.length > 0)
  const streak = runs.length - 1 - runs.findLastIndex(({ complaints }) => complaints.length > 0)
  const total = (what: (run: RunRecord) => number): number => runs.reduce((sum, run) => sum + what(run), 0)
  return [
    markdownTable(
      ['what', 'in all'],
      [
        ['seeds', `${runs.length}`],
        ['of a minute or more', `${runs.filter(({ minutes }) => minutes >= 1).length}`],
        ['minutes of faults', total(({ minutes }) => minutes).toFixed(1)],
        ['hours altogether', (total(({ seconds }) => seconds) / 3600).toFixed(1)],
        ['seeds with complaints', `${failed.length}`],
        ['clean seeds in a row at the end', `${streak}`],
        ['node requests', `${total(({ requests }) => requests)}`],
        ['records compared with the chains', `${total(({ records }) => records)}`],
        ['states of the read model', `${total(({ states }) => states)}`],
        ['answers checked against them', `${total(({ answers }) => answers)}`],
      ],
    ),
    tallyTable('node fault', added(runs.map(({ faults }) => faults))),
    reorgTable(added(runs.map(({ reorgs }) => reorgs))),
    tallyTable('mishap', added(runs.map(({ mishaps }) => mishaps))),
    tallyTable('killed where', added(runs.map(({ kills }) => kills))),
    failed.length === 0 ? '' : complaintList(failed),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** Number of measured recoveries and their times, by fault. */
export function recoveryTable(recoveries: readonly Recovery[]): string {
  const kinds = new Map<string, Recovery[]>()
  for (const one of recoveries) kinds.set(one.after, [...(kinds.get(one.after) ?? []), one])
  const rows = [...kinds].sort(byName).map(([kind, all]) => {
    const seconds = all.flatMap((one) => one.seconds ?? []).sort((one, other) => one - other)
    const shown = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(2))
    return [kind, `${seconds.length}`, `${all.length - seconds.length}`, shown(median(seconds))].concat(
      shown(seconds.at(-1)),
    )
  })
  return markdownTable(['after the end of', 'measured', 'not in time', 'median s', 'max s'], rows)
}

function median(sorted: readonly number[]): number | undefined {
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

function added(all: readonly Record<string, number>[]): Tally {
  const sum: Tally = new Map()
  for (const one of all) for (const [what, times] of Object.entries(one)) add(sum, what, times)
  return sum
}

function tallyTable(what: string, tally: Tally): string {
  const rows = [...tally].sort(byName).map(([name, times]) => [name, `${times}`])
  const sum = [...tally.values()].reduce((left, right) => left + right, 0)
  return markdownTable([what, 'times'], [...rows, ['together', `${sum}`]])
}

/** One line per depth, one column per chain. */
function reorgTable(reorgs: Tally): string {
  const chains = [...new Set([...reorgs.keys()].map((name) => name.split(' ')[0] ?? ''))].sort()
  const depths = [...new Set([...reorgs.keys()].map((name) => Number(name.split(' ')[1])))].sort(
    (one, other) => one - other,
  )
  return markdownTable(
    ['reorg of so many blocks', ...chains],
    depths.map((depth) => [`${depth}`, ...chains.map((chain) => `${reorgs.get(`${chain} ${depth}`) ?? 0}`)]),
  )
}

function complaintList(failed: readonly RunRecord[]): string {
  return failed
    .map(({ seed, minutes, complaints }) => `- seed \`${seed}\`, ${minutes} min: ${complaints[0] ?? ''}`)
    .join('\n')
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}
