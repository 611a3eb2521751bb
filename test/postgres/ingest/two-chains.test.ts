import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader, ChainStep } from '../../../shared/events/chain-step.ts'
import { miscounts } from '../../helpers/counted-history.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, ingestStories } from '../../helpers/ingest-ledger.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { ingestInSomeOrder, otherBranch } from '../../helpers/restless-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'
import { recordRows } from '../../helpers/log-views.ts'
import { recountedDays, storedDays } from '../../helpers/recount-days.ts'
import { cases } from '../../helpers/cases.ts'

/** A contract's events in two steps: all of a branch, and all of the one that takes its place. */
async function ingestBranches(db: Db, left: ChainEvent[], kept: ChainEvent[]): Promise<void> {
  const epoch = await raiseEpoch(db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  const number = Math.max(...kept.map(({ blockNumber }) => blockNumber))
  const head = (hash: string): BlockHeader => ({ number, hash, parentHash: '', timeS: 0 })
  const write = async (step: ChainStep): Promise<void> => {
    const outcome = await ingestStep(db, EVM, epoch, step)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
  }
  const genesis = { ...head('genesis'), number: 0 }
  const blocks = { headers: [], evidence: [] }
  await write({
    type: 'blocks',
    from: 0,
    after: null,
    to: genesis,
    ...blocks,
    headers: [genesis],
    events: [],
  })
  // A step without headers would be final, and nothing takes its place.
  const to = head('left')
  await write({ type: 'blocks', from: 1, after: genesis, to, ...blocks, headers: [to], events: left })
  await write({
    type: 'reorg',
    ancestor: genesis,
    replaces: head('left'),
    to: head('kept'),
    ...blocks,
    events: kept,
  })
}

/** What readers see, without what depends on when it was seen: ids and times. */
async function seen(db: Db): Promise<{ records: string[]; loans: unknown[]; channels: unknown[] }> {
  const records = await recordRows(db)
  const loans = await sql<{ row: object }>`
    select json_build_object('loan', loan_type || '/' || loan_id, 'part', evm_part, 'derived', derived_state) as row
    from projection.loans order by loan_type, loan_id`.execute(db)
  const channels = await sql<{ row: object }>`
    select json_build_object('robust', robust, 'loan', loan_type || '/' || loan_id, 'role', role, 'strength', strength,
      'shown', shown, 'part', part) as row
    from projection.channels order by robust`.execute(db)
  return {
    records: records.map((row) => `${row.event} ${row.loan_type}/${row.loan_id} ${row.tx_hash}`).sort(),
    loans: loans.rows,
    channels: channels.rows,
  }
}

/** The channels shown for loans whose contract waits for one, each of which is ahead of it. */
async function shownWhileOpen(db: Db): Promise<string[]> {
  const { rows } = await sql<{ robust: string }>`
    select robust from projection.channels join projection.loans loan using (loan_type, loan_id)
    where shown and loan.evm_part->>'state' = '0' and derived_state = '0.5' order by robust`.execute(db)
  return rows.map(({ robust }) => robust)
}

async function checkOrder(t: Test, db: Db): Promise<void> {
  const rows = await db.selectFrom('projection.activity').selectAll().orderBy('id').execute()
  t.same(await miscounts(db), [], 'each record is found by its number')
  t.ok(
    rows.every(
      (row, index) => index === 0 || row.created_at >= (rows[index - 1]?.created_at ?? row.created_at),
    ),
    'createdAt never decreases with id',
  )
}

async function empty(db: Db): Promise<void> {
  await sql`truncate ledger.event_log, ledger.chain_position, ledger.block_headers,
    ledger.ranges_read, ledger.channel_addresses, projection.activity, projection.activity_counts,
    projection.loans, projection.loan_lists, projection.channels,
    ledger.block_positions, projection.activity_past, projection.loan_lists_past, projection.daily, projection.derived_states, projection.channels_past`.execute(
    db,
  )
  await sql`update ledger.log_head set last_position = 0`.execute(db)
  await sql`update projection.fold_state set version = gen_random_uuid(), folded_position = 0, records = 0, channels = 0`.execute(
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
      await ingestInSomeOrder(db, chains, seed, { first })
      t.same((await seen(db)).records, [...chains.expected].sort(), `seed ${seed}`)
      t.same(await storedDays(db), await recountedDays(db), 'the daily figures are those of a recount')
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
          // The first order has no reorgs: the others must end in the same.
          await ingestInSomeOrder(db, chains, order, { unrest: wanted === undefined ? 0 : 0.3 })
          const found = await seen(db)
          wanted ??= found
          t.same(found, wanted, `stories ${seed} of ${people} people in order ${order}`)
          await checkOrder(t, db)
          t.same(await storedDays(db), await recountedDays(db), 'the daily figures are those of a recount')
        }
        const digest = await digestReadModel(db)
        await replay(db, QUIETLY)
        t.same(await digestReadModel(db), digest, 'a replay gives the same rows, ids and times')
      },
    ),
    { numRuns: cases(8) },
  )
})

void t.test(
  'a loan that waits shows the channel that lives and is signed for, in whatever order all came',
  async (t) => {
    const { db } = await testDatabase(t)
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        async (seed, order) => {
          const chains = tellStories(seed, 8, { handedIn: 1, rivals: true })
          let wanted: unknown
          for (const unrest of [0, 0.3]) {
            await empty(db)
            await ingestInSomeOrder(db, chains, order, { unrest })
            const found = await seen(db)
            wanted ??= found
            t.same(found, wanted, `stories ${seed} in order ${order}`)
            t.same(await shownWhileOpen(db), [...chains.awaited].sort(), `stories ${seed} in order ${order}`)
            t.same(await storedDays(db), await recountedDays(db), 'the daily figures are those of a recount')
          }
          const digest = await digestReadModel(db)
          await replay(db, QUIETLY)
          t.same(await digestReadModel(db), digest, 'a replay gives the same rows, ids and times')
        },
      ),
      { numRuns: cases(8) },
    )
  },
)

void t.test('payment channels follow the loans of a reorg, though nothing comes after it', async (t) => {
  const { db } = await testDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
      const chains = tellStories(seed, 8, { people: 3, handedIn: 0.5 })
      await empty(db)
      await ingestInSomeOrder(db, chains, seed)
      const wanted = await seen(db)

      await empty(db)
      await ingestInSomeOrder(db, { ...chains, evm: [] }, seed)
      await ingestBranches(db, otherBranch(chains.evm, seededRandom(seed)), chains.evm)
      t.same(await seen(db), wanted, `stories ${seed}`)
    }),
    { numRuns: cases(8) },
  )
})

void t.test('what a message shows has its id from the entry that tells the message', async (t) => {
  const { db } = await testDatabase(t)
  await ingestStories(db, tellStories(11, 3))
  const { rows } = await sql<{ own: boolean; place: string }>`
    select record.id / 1000000 = entry.position as own, record.id % 1000000 as place
    from projection.activity record join ledger.event_log entry
      on entry.natural_key = record.natural_key and entry.network = record.network and entry.op = 'append'`.execute(
    db,
  )
  const told = rows.filter(({ own }) => own)
  t.ok(told.length > 0, `${told.length} of ${rows.length} shown by the step that tells them`)
  // Below it are vouchers that it tells, and what was known before and is visible only now.
  t.ok(
    told.every(({ place }) => Number(place) === 750_000),
    told.map(({ place }) => place).join(),
  )
})
