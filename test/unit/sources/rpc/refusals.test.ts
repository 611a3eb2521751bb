import t from 'tap'
import { Refusals } from '../../../../indexer/sources/rpc/refusals.ts'

const [one, two] = [{}, {}]

void t.test('a refusal stands when every endpoint said the same for two minutes', (t) => {
  const refusals = new Refusals()
  for (let atMs = 0; atMs < 120_000; atMs += 10_000) {
    refusals.note('call', one, `internal error, request ${atMs}`, atMs)
    t.notOk(refusals.stands('call', [one]), `after ${atMs} ms`)
  }
  refusals.note('call', one, 'internal error, request 0xAb', 120_000)
  t.ok(refusals.stands('call', [one]))
  t.notOk(refusals.stands('call', [one, two]), 'the other was not heard')
  t.notOk(refusals.stands('call', []), 'nobody is there')
  t.notOk(refusals.stands('another call', [one]))
  refusals.forget('call')
  t.notOk(refusals.stands('call', [one]), 'it was answered')
  t.end()
})

void t.test('other words, or silence in between, begin anew', (t) => {
  const refusals = new Refusals()
  refusals.note('call', one, 'internal error', 0)
  refusals.note('call', one, 'timed out', 100_000)
  refusals.note('call', one, 'timed out', 200_000)
  t.notOk(refusals.stands('call', [one]))
  refusals.note('call', one, 'timed out', 600_000)
  t.notOk(refusals.stands('call', [one]))
  t.end()
})
