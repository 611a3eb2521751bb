import t from 'tap'
import { createRandom } from '../../../devnet/evm/random.ts'
import { cases } from '../../helpers/cases.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { evmBackfill } from '../../lies/evm-backfill.ts'
import { evmBlocks } from '../../lies/evm-blocks.ts'
import { evmState } from '../../lies/evm-state.ts'
import { filecoin } from '../../lies/filecoin.ts'
import { countLies, type LieGroup, type Outcome } from '../../lies/lie-kind.ts'

/** A bounded part of `npm run lies`. */

const seed = String(testSeed(t))
t.setTimeout(500_000)

/** Each group, the number of lies of a kind, and outcomes besides refusal that some of its kinds may have. */
const GROUPS: [LieGroup, number, Record<string, Outcome[]>][] = [
  [evmBlocks, 1_000, { 'a transaction with another hash': ['harmless'] }],
  [
    evmBackfill,
    100,
    {
      'a log changed': ['found', 'open'],
      'a log left out': ['found', 'open'],
      'a receipt told as reverted': ['found', 'open'],
    },
  ],
  // To swap two empty slots can change nothing that counts.
  [evmState, 200, { 'two slots in each other’s places': ['harmless'] }],
  [
    filecoin,
    100,
    {
      'a list of a block’s messages changed': ['harmless'],
      'a transfer to a channel changed': ['open'],
      'a channel’s message behind one of no channel': ['open'],
      'receipts changed, with a made-up child': ['found', 'harmless'],
    },
  ],
]

for (const [group, lies, others] of GROUPS) {
  void t.test(`no lie about ${group.about} is taken for proven`, async (t) => {
    for (const kind of await group.begin(t, seed)) {
      const { outcomes } = await countLies(
        group.name,
        kind,
        cases(lies),
        createRandom(`${seed}/${kind.name}`),
      )
      const allowed: string[] = ['refused', ...(others[kind.name] ?? [])]
      const unexpected = Object.entries(outcomes).filter(
        ([outcome, count]) => count > 0 && !allowed.includes(outcome),
      )
      t.same(unexpected, [], `${kind.name}: ${JSON.stringify(outcomes)}`)
    }
  })
}
