import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { raiseWriterEpoch } from '../../../indexer/event-log/chain-position.ts'
import { appendOffchain, ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { HandedInEvent } from '../../../shared/events/filecoin-event.ts'
import { testDatabase } from '../../helpers/database.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

const EVM = { network: 'evm:31337', blockchain: 'DEVNET' }
const FILECOIN = { network: 'filecoin:testnet', blockchain: 'FIL' }
const OFFCHAIN = { network: 'offchain:testnet', blockchain: 'FIL' }

/** One ledger's events as steps of a few blocks each, to be written one after the other. */
async function openLedger(
  db: Db,
  identity: typeof EVM,
  events: ChainEvent[],
  random: ReturnType<typeof seededRandom>,
) {
  const epoch = await raiseWriterEpoch(db, identity.network, { startNumber: 0, watched: {} })
  let after: BlockRef | null = null
  let written = 0
  return {
    isDone: () => written >= events.length,
    writeSome: async (): Promise<void> => {
      const last = events[Math.min(events.length - 1, written + random.below(4))]
      if (last === undefined || written >= events.length) return
      const batch = events.slice(written).filter(({ blockNumber }) => blockNumber <= last.blockNumber)
      const to = { number: last.blockNumber, hash: last.blockHash, parentHash: '', timeS: last.blockTimeS }
      const from = after === null ? 0 : after.number + 1
      const outcome = await ingestStep(db, identity, epoch, {
        type: 'blocks',
        from,
        after,
        to,
        headers: [],
        events: batch,
        evidence: [],
      })
      if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
      written += batch.length
      after = { number: to.number, hash: to.hash }
    },
  }
}

async function ingestInSomeOrder(
  db: Db,
  chains: TwoChains,
  seed: number,
  first?: 'evm' | 'filecoin',
): Promise<void> {
  const random = seededRandom(seed)
  const evm = await openLedger(db, EVM, chains.evm, random)
  const filecoin = await openLedger(db, FILECOIN, chains.filecoin, random)
  const offchain = [...chains.offchain].sort(() => (random.chance(0.5) ? 1 : -1)) as HandedInEvent[]
  const handIn = (event: HandedInEvent): Promise<unknown> =>
    inTransaction(db, (trx) => appendOffchain(trx, OFFCHAIN, [event]))
  if (first === 'evm') while (!evm.isDone()) await evm.writeSome()
  if (first === 'filecoin') while (!filecoin.isDone()) await filecoin.writeSome()
  while (!evm.isDone() || !filecoin.isDone() || offchain.length > 0) {
    const event = random.chance(0.3) ? offchain.pop() : undefined
    if (event !== undefined) await handIn(event)
    else if (random.chance(0.5) ? !evm.isDone() : filecoin.isDone()) await evm.writeSome()
    else if (!filecoin.isDone()) await filecoin.writeSome()
  }
  for (const event of chains.offchain.slice(0, 2)) await handIn(event as HandedInEvent)
}

/** What readers see, without what depends on when it was seen: ids and times. */
async function seen(db: Db): Promise<{ records: string[]; loans: unknown[]; channels: unknown[] }> {
  const records = await db.selectFrom('projection.activity').selectAll().orderBy('id').execute()
  const loans = await sql<{ row: object }>`
    select json_build_object('loan', loan_type || '/' || loan_id, 'part', evm_part, 'derived', derived_state) as row
    from projection.loans order by loan_type, loan_id`.execute(db)
  const channels = await sql<{ row: object }>`
    select json_build_object('robust', robust, 'loan', loan_type || '/' || loan_id, 'role', role, 'strength', strength,
      'shown', shown, 'part', part::jsonb - 'erc20LoanId' - 'collateralLockId') as row
    from projection.channels order by robust`.execute(db)
  return {
    records: records.map((row) => `${row.event} ${row.loan_type}/${row.loan_id} ${row.tx_hash}`).sort(),
    loans: loans.rows,
    channels: channels.rows,
  }
}

async function checkOrder(t: Test, db: Db): Promise<void> {
  const rows = await db.selectFrom('projection.activity').selectAll().orderBy('id').execute()
  t.ok(
    rows.every((row, index) => row.position === index + 1),
    'positions are dense and in the order of ids',
  )
  t.ok(
    rows.every(
      (row, index) => index === 0 || row.created_at >= (rows[index - 1]?.created_at ?? row.created_at),
    ),
    'createdAt never decreases with id',
  )
}

async function empty(db: Db): Promise<void> {
  await sql`truncate ledger.event_log, ledger.live_entries, ledger.chain_position, ledger.block_headers,
    ledger.ranges_read, ledger.channel_addresses, projection.activity, projection.loans, projection.channels`.execute(
    db,
  )
  await sql`update ledger.log_head set last_position = 0`.execute(db)
  await sql`update projection.fold_state set folded_position = 0, records = 0, last_id = 0, channels = 0`.execute(
    db,
  )
}

const QUIETLY = { restart: true, signal: new AbortController().signal, onProgress: () => undefined }

void t.test(
  'whole loans across both chains make exactly their records, in whatever order the chains are read',
  async (t) => {
    const { db } = await testDatabase(t)
    for (const [seed, first] of [
      [1, undefined],
      [2, 'evm'],
      [3, 'filecoin'],
      [4, undefined],
    ] as const) {
      await empty(db)
      const chains = tellStories(seed, 14)
      await ingestInSomeOrder(db, chains, seed, first)
      t.same((await seen(db)).records, [...chains.expected].sort(), `seed ${seed}`)
      await checkOrder(t, db)
      const digest = await digestReadModel(db)
      await replay(db, QUIETLY)
      t.same(await digestReadModel(db), digest, 'a replay gives the same rows, ids and times')
    }
  },
)

void t.test('any interleaving of the two chains ends in the same loans and the same records', async (t) => {
  const { db } = await testDatabase(t)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 2, max: 6 }),
      fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 2, maxLength: 2 }),
      async (seed, people, orders) => {
        // Few people have many loans with each other: much is ambiguous, and links are made and corrected.
        const chains = tellStories(seed, 8, { people, handedIn: 0.5 })
        let wanted: unknown
        for (const order of orders) {
          await empty(db)
          await ingestInSomeOrder(db, chains, order)
          const found = await seen(db)
          wanted ??= found
          t.same(found, wanted, `stories ${seed} of ${people} people in order ${order}`)
          await checkOrder(t, db)
        }
        const digest = await digestReadModel(db)
        await replay(db, QUIETLY)
        t.same(await digestReadModel(db), digest, 'a replay gives the same rows, ids and times')
      },
    ),
    { numRuns: 8 },
  )
})
