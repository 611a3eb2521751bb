import fc from 'fast-check'
import t from 'tap'
import { badAnswers, outOfBounds } from '../../simulation/soak-bounds.ts'
import { slope, soakAccount } from '../../simulation/soak-account.ts'
import type { Sample } from '../../simulation/soak-sample.ts'

const sample = (minutes: number, changes: Partial<Sample> = {}): Sample => ({
  ...{ minutes, records: minutes * 100, held: { sessions: 8, 'resident MiB': 100 + minutes } },
  tables: {
    'ledger.event_log': { tableBytes: minutes * 102_400, indexBytes: 2048, rows: minutes * 100, deadRows: 3 },
  },
  ...changes,
})

void t.test('growth is told for each thing that is held, and per record for tables', (t) => {
  const text = soakAccount([sample(0), sample(20), sample(40), sample(60)])
  for (const line of [
    '4 samples in 60.0 minutes; from minute 20.0 on, 4000 records more (6000 an hour), 6000 in the end.',
    '| sessions | 8 | 8 | 8 | 8 | 0.00 |',
    '| resident MiB | 120 | 120 | 160 | 160 | 60.00 |',
    '| ledger.event_log | 2000 | 6000 | 1024.0 | 2 | 2 | 0.0 | 6000 | 3 |',
  ]) {
    t.ok(text.split('\n').includes(line), line)
  }
  t.throws(() => soakAccount([]), /too few samples/)
  t.throws(() => soakAccount([sample(60)]), /too few samples/)
  t.end()
})

void t.test('what comes later, or went away, is told too', (t) => {
  const held = { sessions: 8, 'Redis: keys': 20 }
  const text = soakAccount([sample(0), sample(30), sample(50, { held }), sample(60, { held })])
  t.match(text, '| Redis: keys | 20 | 20 | 20 | 20 | 0.00 |')
  t.match(text, '| resident MiB | 130 | 130 | 130 | 130 | 0.00 |')
  t.end()
})

void t.test('the slope of points on a line is the line’s', (t) => {
  const small = fc.integer({ min: -1000, max: 1000 })
  fc.assert(
    fc.property(small, small, fc.uniqueArray(small, { minLength: 2 }), (rise, base, xs) => {
      const found = slope(xs.map((x) => [x, rise * x + base]))
      return Math.abs(found - rise) < 1e-6
    }),
  )
  t.equal(slope([[5, 7]]), 0)
  t.end()
})

void t.test('what is beyond its bound, and what was never seen, is told', (t) => {
  const fine = {
    ...{ 'api: resident MiB': 90, 'api: open files': 20, 'database sessions': 8, 'advisory locks': 2 },
    ...{ 'rows of ledger.block_headers': 90, 'rows of ledger.ranges_read': 9, 'queue: jobs': 3 },
    ...{ 'rows of ledger.waiting_vouchers': 0, 'rows of ledger.dead_letters': 0 },
  }
  t.same(outOfBounds([sample(0, { held: fine }), sample(1, { held: fine })]), [])
  t.match(outOfBounds([sample(0, { held: { ...fine, 'queue: jobs': 9_000 } })]), [/^queue: jobs: 9000, /])
  t.match(outOfBounds([sample(0, { held: { ...fine, 'api: resident MiB': 900 } })]), [/^api: resident MiB/])
  const { 'queue: jobs': _, ...unseen } = fine
  t.match(outOfBounds([sample(0, { held: unseen })]), [/^nothing was seen of .*queue/])
  t.ok(outOfBounds([]).length > 5, 'nothing was seen at all')
  t.end()
})

void t.test('answers that should not be are told', (t) => {
  t.same(
    badAnswers(
      new Map([
        ['answers 200', 90],
        ['answers 404', 5],
        ['answers 503', 2],
      ]),
    ),
    [],
  )
  t.same(
    badAnswers(
      new Map([
        ['answers 200', 9],
        ['answers 500', 1],
      ]),
    ),
    ['answers 500: 1 times'],
  )
  t.same(
    badAnswers(
      new Map([
        ['answers 200', 9],
        ['no answer: time-out', 1],
      ]),
    ),
    ['no answer: time-out: 1 times'],
  )
  t.match(
    badAnswers(
      new Map([
        ['answers 200', 50],
        ['answers 503', 50],
      ]),
    ),
    [/^50 of 100 answers were 503/],
  )
  t.match(badAnswers(new Map([['answers 404', 50]])), [/^no page and no loan/])
  t.end()
})
