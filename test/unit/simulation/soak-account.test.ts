import fc from 'fast-check'
import t from 'tap'
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
