import t from 'tap'
import { Pace } from '../../../../indexer/cli/pace.ts'

void t.test('progress has its rate and the time left', (t) => {
  const pace = new Pace()
  t.equal(pace.after(1_000, 50_000, 0), '', 'a resumed run begins here')
  t.equal(pace.after(1_500, 50_000, 500), '', 'too early')
  t.equal(pace.after(3_000, 50_000, 2_000), '1000/s, 47 s left')
  t.equal(pace.after(3_000, 3_000_000, 2_000), '1000/s, 50 min left')
  t.equal(pace.after(3_000, 30_000_000, 2_000), '1000/s, 8 h 20 min left')
  t.equal(pace.after(1_010, 1_020, 4_000), '2.5/s, 4 s left')
  t.equal(pace.after(3_000, null, 2_000), '1000/s')
  t.equal(pace.after(1_000, 50_000, 9_000), '', 'nothing was done')
  t.end()
})
