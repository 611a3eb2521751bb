import t from 'tap'
import type { RunRecord } from '../../simulation/run-record.ts'
import { recoveryTable, sumRuns } from '../../simulation/sum-runs.ts'

const run = (seed: string, changes: Partial<RunRecord> = {}): RunRecord => ({
  ...{ seed, minutes: 1, seconds: 90, requests: 10, records: 5, states: 3, answers: 7, slowestAnswerMs: 20 },
  ...{ faults: { latency: 2 }, mishaps: { 'SIGKILL of Redis': 1 }, reorgs: { 'EVM 10': 1, 'EVM 2': 3 } },
  ...{ kills: { Redis: 1 }, complaints: [] },
  ...changes,
})

void t.test('runs are added up', (t) => {
  const text = sumRuns([
    run('a'),
    run('b', { complaints: ['two records'], reorgs: { 'Filecoin 2': 1 } }),
    run('c', { minutes: 0.5 }),
    run('d'),
  ])
  for (const line of [
    '| seeds | 4 |',
    '| of a minute or more | 3 |',
    '| minutes of faults | 3.5 |',
    '| hours altogether | 0.1 |',
    '| seeds with complaints | 1 |',
    '| clean seeds in a row at the end | 2 |',
    '| latency | 8 |',
    '| together | 8 |',
    '| 2 | 9 | 1 |',
    '| 10 | 3 | 0 |',
    '- seed `b`, 1 min: two records',
  ]) {
    t.ok(text.split('\n').includes(line), line)
  }
  t.match(sumRuns([run('a'), run('b')]), '| clean seeds in a row at the end | 2 |')
  t.match(sumRuns([run('a', { complaints: ['x'] })]), '| clean seeds in a row at the end | 0 |')
  t.end()
})

void t.test('the median of an even number, and of none', (t) => {
  const after = 'x'
  t.match(recoveryTable([1, 2, 4, 9].map((seconds) => ({ after, seconds }))), '| x | 4 | 0 | 3.00 | 9.00 |')
  t.match(recoveryTable([{ after, seconds: null }]), '| x | 0 | 1 | - | - |')
  t.end()
})
