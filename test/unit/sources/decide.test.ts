import t from 'tap'
import { decide, type HeadSeen, type Outcome, type OurBranch } from '../../../indexer/sources/decide.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'

const block = (number: number, branch = 'a'): BlockRef => ({ number, hash: `${branch}${number}` })

/** Blocks 10 to 20 of branch a are known, and those up to `final` cannot be rolled back. */
function upTo20({ final = null, told = null }: Partial<Pick<OurBranch, 'final' | 'told'>> = {}): OurBranch {
  const lowest = final?.number ?? 10
  const hashAt = (number: number): string | null =>
    number >= lowest && number <= 20 ? block(number).hash : null
  return { position: block(20), next: 21, final, told, hashAt }
}
const empty: OurBranch = { position: null, next: 5, final: null, told: null, hashAt: () => null }
const head = (number: number, branch = 'a', atPosition: string | null = null): HeadSeen => ({
  ...block(number, branch),
  atPosition: number > 20 ? (atPosition ?? `${branch}20`) : null,
})

const CASES: [string, OurBranch, HeadSeen, BlockRef | null, Outcome['is']][] = [
  ['nothing was read, and the first block is not there', empty, head(4), null, 'idle'],
  ['nothing was read, and nothing is final', empty, head(9), null, 'tip'],
  ['nothing was read, and the first block is final', empty, head(9), block(5), 'backfill'],
  ['nothing was read, and what is final is below the first block', empty, head(9), block(4), 'tip'],
  ['the head is our position', upTo20(), head(20), null, 'idle'],
  ['the same, and blocks of ours became final', upTo20(), head(20), block(15), 'idle'],
  ['the head is a block of ours', upTo20(), head(15), null, 'behind'],
  ['the same, at what is final', upTo20({ final: block(15) }), head(15), block(15), 'behind'],
  ['the head continues us', upTo20(), head(21), null, 'tip'],
  ['the head is above us, on our branch', upTo20(), head(30), block(12), 'tip'],
  ['the next block is final', upTo20({ final: block(12) }), head(30), block(21), 'backfill'],
  ['all up to the head is final', upTo20(), head(30), block(30), 'backfill'],
  ['another block at our height', upTo20(), head(20, 'b'), null, 'reorg'],
  ['a shorter branch', upTo20(), head(15, 'b'), null, 'reorg'],
  ['a longer branch', upTo20(), head(25, 'b'), null, 'reorg'],
  ['a longer branch, which is final beyond us', upTo20(), head(25, 'b'), block(22, 'b'), 'reorg'],
  [
    'a longer branch, of which a block that we have otherwise is final',
    upTo20(),
    head(25, 'b'),
    block(18, 'b'),
    'reorg',
  ],
  ['a head below what is final', upTo20({ final: block(15) }), head(14), null, 'contradiction'],
  [
    'a head of another branch below what is final',
    upTo20({ final: block(15) }),
    head(14, 'b'),
    null,
    'contradiction',
  ],
  ['a head below all that is remembered', upTo20(), head(9), null, 'contradiction'],
  [
    'our branch is continued, but another block is final',
    upTo20(),
    head(21),
    block(18, 'b'),
    'contradiction',
  ],
  ['the head is ours, but another block is final', upTo20(), head(20), block(18, 'b'), 'contradiction'],
  [
    'the same of a block that was reported as final before',
    upTo20({ told: block(18) }),
    head(20),
    block(18, 'b'),
    'idle',
  ],
]

void t.test('each look at the chain has one outcome', (t) => {
  for (const [what, ours, seen, finalized, outcome] of CASES)
    t.equal(decide(ours, seen, finalized).is, outcome, what)
  t.end()
})

void t.test('a backfill leads up to the finalized block, and a contradiction names both blocks', (t) => {
  t.same(decide(upTo20(), head(30), block(25)), { is: 'backfill', to: block(25) })
  const message = (outcome: Outcome): string => (outcome.is === 'contradiction' ? outcome.message : '')
  t.match(
    message(decide(upTo20({ final: block(15) }), head(14), null)),
    /head 14 is below block 15, which is final/,
  )
  t.match(message(decide(upTo20(), head(21), block(18, 'b'))), /block 18 is a18 on our branch.*b18 is final/)
  t.end()
})
