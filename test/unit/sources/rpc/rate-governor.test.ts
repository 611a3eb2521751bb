import t from 'tap'
import { RateGovernor } from '../../../../indexer/sources/rpc/rate-governor.ts'

const LIMITS = { maxConcurrent: 8, maxBatch: 100 }

/** Sends so many batches, as large as they may be, to an endpoint that takes so many calls at once; how many it refused. */
function send(governor: RateGovernor, requests: number, taken: number): number {
  let refused = 0
  for (let request = 0; request < requests; request += 1) {
    if (governor.batch <= taken) governor.succeeded()
    else {
      governor.batchRefused(governor.batch)
      refused += 1
    }
  }
  return refused
}

void t.test('one refusal of a small batch does not end batches for good', (t) => {
  const governor = new RateGovernor(LIMITS)
  governor.batchRefused(2)
  t.equal(governor.batch, 1)
  send(governor, 1000, 100)
  t.equal(governor.batch, 100)
  t.end()
})

for (const taken of [1, 10, 30]) {
  void t.test(`an endpoint that takes ${taken} calls at once is seldom asked for more`, (t) => {
    const governor = new RateGovernor(LIMITS)
    send(governor, 10, taken)
    t.ok(governor.batch <= taken, 'learned with a few requests')
    const refused = send(governor, 100_000, taken)
    t.ok(refused > 0 && refused < 100, `refused ${refused} of 100,000`)
    t.end()
  })
}

void t.test('batches that were under way together are refused once', (t) => {
  const [once, together] = [new RateGovernor(LIMITS), new RateGovernor(LIMITS)]
  once.batchRefused(100)
  for (let request = 0; request < 8; request += 1) together.batchRefused(100)
  for (const governor of [once, together]) send(governor, 60, 100)
  t.equal(together.batch, once.batch)
  t.equal(together.batch, 100)
  t.end()
})
