import t, { type Test } from 'tap'
import {
  findPosition,
  getHeaders,
  raiseEpoch,
  type ChainPosition,
} from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import type { ChainSource } from '../../../indexer/sources/chain-source.ts'
import { followChain } from '../../../indexer/sources/follow-chain.ts'
import type { BlockHeader, BlockRef, ChainStep } from '../../../shared/events/chain-step.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'

/** A writer that was away for long and is stopped again in the middle of its backfill. */

const IDENTITY = { network: 'evm:1', blockchain: 'TEST' }
const START = 100
/** The last block that both branches share. */
const SHARED = 108

interface Chain {
  branch: 'ours' | 'other'
  head: number
  final: number
}

const header = (branch: Chain['branch'], number: number): BlockHeader => ({
  number,
  hash: hashAt(branch, number),
  parentHash: hashAt(branch, number - 1),
  timeS: number,
})

function hashAt(branch: Chain['branch'], number: number): string {
  return `${number > SHARED ? branch : 'shared'}${number}`
}

/** A node with a chain without events, as it is at each question. */
function sourceOf(chain: Chain): ChainSource {
  const upTo = (from: number, to: number): BlockHeader[] =>
    Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => header(chain.branch, from + index))
  return {
    ...{ network: IDENTITY.network, startBlock: START, maxBlockRange: 50 },
    check: () => Promise.resolve(),
    head: () => Promise.resolve(header(chain.branch, chain.head)),
    finalized: () => Promise.resolve({ number: chain.final, hash: hashAt(chain.branch, chain.final) }),
    believeFinal: () => undefined,
    finalHeader: (_, number) => Promise.resolve(header(chain.branch, number)),
    headers: (from, to) => Promise.resolve(upTo(from, Math.min(to, chain.head))),
    readRange: (from, to) =>
      Promise.resolve({
        ...{ events: [], evidence: [], cuts: [] },
        ...{ first: header(chain.branch, from), last: header(chain.branch, to) },
      }),
    readBlocks: () => Promise.resolve({ events: [], evidence: [] }),
    headTicks: async function* (signal: AbortSignal) {
      while (!signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        yield
      }
    },
    close: () => Promise.resolve(),
  }
}

interface Life {
  problems: string[]
  reorgs: number
}

/** Follows the chain as a process does that was just started, until `isEnough` of a step that was written, or time is up. */
async function live(
  db: Db,
  chain: Chain,
  isEnough: (step: ChainStep) => boolean,
  longestMs = 20_000,
): Promise<Life> {
  const epoch = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: START, watched: {} })
  const life: Life = { problems: [], reorgs: 0 }
  const { block, finalized } = await positionOf(db)
  const resume = { position: block, headers: await getHeaders(db, IDENTITY.network), finalized }
  const options = {
    signal: AbortSignal.timeout(longestMs),
    parallelRanges: 1,
    onProblem: (message: string) => life.problems.push(message),
  }
  for await (const step of followChain(sourceOf(chain), resume, options)) {
    const outcome = await ingestStep(db, IDENTITY, epoch, step)
    if (outcome !== 'applied') throw new Error(`a ${step.type} step was ${outcome}`)
    if (step.type === 'reorg') life.reorgs += 1
    if (isEnough(step)) break
  }
  return life
}

async function positionOf(db: Db): Promise<Pick<ChainPosition, 'block' | 'finalized'>> {
  return (await findPosition(db, IDENTITY.network)) ?? { block: null, finalized: null }
}

const reaches =
  (number: number) =>
  (step: ChainStep): boolean =>
    step.type !== 'finalized' && step.to.number >= number

/** Its position is beyond the headers that it had before it was away, and below what is final meanwhile. */
async function stoppedInBackfill(t: Test): Promise<{ db: Db; position: BlockRef }> {
  const { db } = await testDatabase(t)
  await live(db, { branch: 'ours', head: 110, final: 105 }, reaches(110))
  t.ok((await getHeaders(db, IDENTITY.network)).length >= 5, 'the tip is remembered')
  await live(db, { branch: 'ours', head: 600, final: 500 }, reaches(250))
  const { block, finalized } = await positionOf(db)
  if (block === null || block.number >= 500) throw new Error('not stopped in the middle')
  t.equal(finalized?.number, 105)
  return { db, position: block }
}

void t.test('a backfill leaves no headers of the tip that was before it', async (t) => {
  const { db } = await stoppedInBackfill(t)
  t.same(await getHeaders(db, IDENTITY.network), [])
})

for (const isOld of [false, true]) {
  const where = isOld ? 'in a database that remembers an old tip, ' : ''
  const resumed = async (t: Test): Promise<{ db: Db; position: BlockRef }> => {
    const stopped = await stoppedInBackfill(t)
    if (!isOld) return stopped
    const rows = [106, 107, 108, 109, 110].map((number) => {
      const { hash, parentHash, timeS } = header('ours', number)
      return { network: IDENTITY.network, number, hash, parent_hash: parentHash, time_s: timeS }
    })
    await stopped.db
      .insertInto('ledger.block_headers')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['network', 'number']).doNothing())
      .execute()
    return stopped
  }

  void t.test(`${where}what a backfill read is final also after a restart`, async (t) => {
    const { db, position } = await resumed(t)
    const lie = { branch: 'other', head: 700, final: 680 } as const
    const life = await live(db, lie, () => true, 1000)
    t.equal(life.reorgs, 0)
    t.match(life.problems[0], `${position.number} is other${position.number} there`)
    t.same((await positionOf(db)).block, position, 'nothing is rolled back')
  })

  void t.test(`${where}a node that tells an older final block is followed all the same`, async (t) => {
    const { db, position } = await resumed(t)
    const chain: Chain = { branch: 'ours', head: 700, final: 107 }
    const life = await live(db, chain, (step) => {
      chain.final = 115
      return reaches(700)(step)
    })
    t.same(life.problems, [])
    t.same(await positionOf(db), {
      ...(await positionOf(db)),
      block: { number: 700, hash: 'ours700' },
      finalized: position,
    })
    const [first] = await getHeaders(db, IDENTITY.network)
    t.equal(first?.number, position.number + 1, 'what is remembered leads up to the position')
  })
}
