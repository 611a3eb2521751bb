import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { findPosition, getHeaders, raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { isEvmLoanEvent } from '../../../shared/events/chain-event.ts'
import type { BlocksStep, ChainStep } from '../../../shared/events/chain-step.ts'
import { naturalKey } from '../../../shared/events/natural-key.ts'
import { miscounts } from '../../helpers/counted-history.ts'
import { testDatabase } from '../../helpers/database.ts'
import { recordsWithKeys } from '../../helpers/log-views.ts'
import { RandomChain } from '../../helpers/random-chain.ts'

const IDENTITY = { network: 'evm:1', blockchain: 'TEST' }
const START = { startNumber: 0, watched: {} }
const BASE = 3

/** Steps of a reader that resumes from the base: consecutive blocks in these cuts, then their finality. */
interface Reading {
  chain: RandomChain
  steps: ChainStep[]
}

function read(seed: number, cuts: readonly number[], isFork: boolean, final: 'base' | 'head'): Reading {
  const chain = new RandomChain(seed)
  chain.grow(BASE)
  const steps: ChainStep[] = []
  cuts.forEach((length, index) =>
    steps.push(isFork && index === 0 ? fork(chain, length) : chain.grow(length)),
  )
  const { number, hash } = final === 'base' ? (chain.blocks[BASE] ?? chain.head) : chain.head
  steps.push({ type: 'finalized', block: { number, hash } })
  return { chain, steps }
}

/** Blocks after the base on a branch that the same chain has nowhere else. */
function fork(chain: RandomChain, length: number): BlocksStep {
  chain.grow(1)
  const { ancestor, to, headers, events, evidence } = chain.reorg(1, length)
  return { type: 'blocks', from: ancestor.number + 1, after: ancestor, to, headers, events, evidence }
}

interface Delivery {
  readerEpoch: number
  sequence: number
  step: ChainStep
}

/** Both readers' steps, each in its own order. */
function merge(readings: readonly Reading[], turns: readonly boolean[]): Delivery[] {
  const queues = readings.map(({ steps }, reader) =>
    steps.map((step, index) => ({ readerEpoch: reader + 1, sequence: index + 1, step })),
  )
  const merged: Delivery[] = []
  for (const turn of [...turns, ...Array<boolean>(20).fill(true), ...Array<boolean>(20).fill(false)]) {
    const next = queues[turn ? 0 : 1]?.shift()
    if (next !== undefined) merged.push(next)
  }
  return merged
}

/** A reader takes its steps up to the noted one for written: our branch must have the last block of each. */
async function falselyNoted(db: Db, readings: readonly Reading[]): Promise<string[]> {
  const position = await findPosition(db, IDENTITY.network)
  const { readerEpoch = 0, sequence = 0 } = position?.written ?? {}
  const branch = new Map((await getHeaders(db, IDENTITY.network)).map(({ number, hash }) => [number, hash]))
  return (readings[readerEpoch - 1]?.steps ?? []).slice(0, sequence).flatMap((step) => {
    const { number, hash } = step.type === 'finalized' ? step.block : step.to
    const ours = number === position?.block?.number ? position.block.hash : branch.get(number)
    const isFinal = number < (position?.finalized?.number ?? 0)
    return isFinal || ours === hash
      ? []
      : [`${readerEpoch}-${sequence}: ${number} ${hash} is ${String(ours)}`]
  })
}

void t.test(
  'steps of two readers interleave: one branch is written, and no step is noted that is not',
  async (t) => {
    const { db } = await testDatabase(t)
    const cuts = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          ...{ seed: fc.integer(), first: cuts, second: cuts, isFork: fc.boolean() },
          final: fc.constantFrom('base' as const, 'head' as const),
        }),
        fc.array(fc.boolean(), { maxLength: 8 }),
        // A step that the queue loses, or that is delivered twice.
        fc.record({ lost: fc.nat(12), twice: fc.nat(12) }),
        async ({ seed, first, second, isFork, final }, turns, { lost, twice }) => {
          await sql`truncate ledger.event_log, ledger.chain_position, ledger.block_headers,
          ledger.ranges_read, projection.activity, projection.activity_counts, projection.loans, projection.loan_lists,
          ledger.block_positions, projection.activity_past, projection.loan_lists_past, projection.daily, projection.derived_states, projection.channels_past`.execute(
            db,
          )
          await sql`update ledger.log_head set last_position = 0`.execute(db)
          await sql`update projection.fold_state set version = gen_random_uuid(), folded_position = 0, records = 0`.execute(
            db,
          )
          const writer = await raiseEpoch(db, IDENTITY.network, 'writer', START)
          const base = new RandomChain(seed)
          await ingestStep(db, IDENTITY, writer, base.genesis())
          await ingestStep(db, IDENTITY, writer, base.grow(BASE))
          const readings = [read(seed, first, false, final), read(seed, second, isFork, final)]
          const deliveries = merge(readings, turns).flatMap((one, index) =>
            index === lost ? [] : index === twice ? [one, one] : [one],
          )
          for (const { step, ...place } of deliveries) {
            await ingestStep(db, IDENTITY, writer, step, place)
            t.same(await falselyNoted(db, readings), [])
          }
          const end = (await findPosition(db, IDENTITY.network))?.block
          const { chain } =
            readings.find((one) => one.chain.blocks[end?.number ?? 0]?.hash === end?.hash) ?? {}
          t.not(chain, undefined, 'the position is on a branch that was read')
          const shown = (chain?.events ?? []).filter(
            (event) => isEvmLoanEvent(event) && event.blockNumber <= (end?.number ?? 0),
          )
          const records = (await recordsWithKeys(db)).map((row) => row.naturalKey).sort()
          t.same(records, shown.map(naturalKey).sort(), 'each event of it once')
          t.same(await miscounts(db), [])
        },
      ),
      { numRuns: 60 },
    )
  },
)
