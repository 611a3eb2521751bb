import t from 'tap'
import type { BlocksRead } from '../../../indexer/sources/chain-source.ts'
import { ProvenResults } from '../../../indexer/sources/proven-results.ts'
import type { RangeEvidence } from '../../../shared/events/chain-step.ts'

const at = (number: number, check: RangeEvidence['check']): RangeEvidence => ({
  ...{ from: number, to: number, endpoint: 'a', check },
})

/** Blocks `from` to `to`, whose results have these roots; the first shows the root `before` of the block below it. */
function read(from: number, to: number, roots: string[], before: string | null): BlocksRead {
  return {
    events: [],
    evidence: [{ from, to, endpoint: 'a', check: 'receipts' }],
    results: {
      before: before === null ? null : { hash: `h${from - 1}`, root: before },
      blocks: roots.map((root, index) => ({ number: from + index, hash: `h${from + index}`, root })),
    },
  }
}

void t.test('the last block of a read is raised once, by the next block of the index', (t) => {
  const results = new ProvenResults()
  t.same(results.take(read(1, 2, ['r1', 'r2'], null)).ofBefore, [])
  t.equal(results.disproven(read(3, 3, ['r3'], 'r2')), null)
  t.same(results.take(read(3, 3, ['r3'], 'r2')).ofBefore, [at(2, 'receipts')])
  t.same(results.take(read(3, 3, ['r3'], 'r2')).ofBefore, [], 'it is known already')
  t.same(results.take({ events: [], evidence: [] }).ofBefore, [], 'another chain')
  t.end()
})

void t.test('a block whose child shows other results is disproven, also after it was raised', (t) => {
  const results = new ProvenResults()
  results.take(read(1, 2, ['r1', 'r2'], null))
  t.equal(results.disproven(read(3, 3, ['r3'], 'other')), 'h2')
  results.take(read(3, 3, ['r3'], 'r2'))
  t.same(results.take(read(3, 3, ['r3'], 'other')).ofBefore, [at(2, 'one')])
  t.equal(results.disproven(read(3, 3, ['r3'], 'r2')), null, 'and is nothing to compare with any more')
  t.same(results.take(read(3, 3, ['r3'], 'r2')).ofBefore, [])
  t.end()
})

void t.test('nothing is raised that was not proven', (t) => {
  const results = new ProvenResults()
  results.take(read(1, 2, [], null))
  t.same(results.take(read(3, 3, ['r3'], 'r2')).ofBefore, [])
  t.end()
})
