import t from 'tap'
import { KnownBranch } from '../../../indexer/sources/known-branch.ts'
import type { BlockHeader, BlockRef } from '../../../shared/events/chain-step.ts'

const block = (number: number): BlockRef => ({ number, hash: `b${number}` })
const header = (number: number): BlockHeader => ({
  ...block(number),
  parentHash: `b${number - 1}`,
  timeS: number,
})
const headers = (from: number, to: number): BlockHeader[] =>
  Array.from({ length: to - from + 1 }, (_, index) => header(from + index))

void t.test('headers that lead up to the position are what may still be reorganized', (t) => {
  const branch = new KnownBranch({
    position: block(110),
    headers: headers(105, 110),
    finalized: block(105),
  })
  t.same(branch.final, block(105))
  t.same(branch.headers, headers(106, 110))
  t.equal(branch.hashAt(108), 'b108')
  t.end()
})

void t.test('from the first block that is read on all may be reorganized while nothing is final', (t) => {
  const branch = new KnownBranch({ position: block(103), headers: headers(100, 103), finalized: null })
  t.equal(branch.final, null)
  t.same(branch.headers, headers(100, 103))
  t.end()
})

void t.test('headers that a backfill has left behind say nothing: its position is final', (t) => {
  for (const finalized of [block(105), null]) {
    const branch = new KnownBranch({ position: block(266), headers: headers(106, 110), finalized })
    t.same(branch.final, block(266))
    t.same(branch.headers, [])
    t.same(branch.told, finalized)
    t.equal(branch.hashAt(266), 'b266')
    t.equal(branch.hashAt(108), null)
  }
  t.end()
})

void t.test('nor do they below the headers of a tip that came after it', (t) => {
  const branch = new KnownBranch({
    position: block(270),
    headers: [...headers(106, 110), ...headers(267, 270)],
    finalized: block(105),
  })
  t.same(branch.final, block(266), 'the block before the tip was read as final')
  t.same(branch.headers, headers(267, 270))
  t.equal(branch.hashAt(268), 'b268')
  t.equal(branch.hashAt(107), null)
  t.end()
})

void t.test('a last header of another branch than the position’s leads nowhere', (t) => {
  const branch = new KnownBranch({
    position: { number: 110, hash: 'other' },
    headers: headers(106, 110),
    finalized: block(105),
  })
  t.same(branch.final, { number: 110, hash: 'other' })
  t.same(branch.headers, [])
  t.end()
})

void t.test('a block that is its own parent at the next height is a null round', (t) => {
  const round: BlockHeader = { number: 109, hash: 'b108', parentHash: 'b108', timeS: 109 }
  const after: BlockHeader = { number: 110, hash: 'b110', parentHash: 'b108', timeS: 110 }
  const branch = new KnownBranch({
    position: block(110),
    headers: [...headers(106, 108), round, after],
    finalized: block(105),
  })
  t.same(branch.final, block(105))
  t.equal(branch.headers.length, 5)
  t.end()
})
