import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { isEvmLoanEvent } from '../../../shared/events/chain-event.ts'
import { naturalKey } from '../../../shared/events/natural-key.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep, type Outcome } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { miscounts } from '../../helpers/counted-history.ts'
import { testDatabase } from '../../helpers/database.ts'
import { LIVE_ENTRIES, recordsWithKeys } from '../../helpers/log-views.ts'
import { RandomChain } from '../../helpers/random-chain.ts'
import type { BlockRef, ChainStep } from '../../../shared/events/chain-step.ts'
import { cases } from '../../helpers/cases.ts'

const IDENTITY = { network: 'evm:1', blockchain: 'TEST' }

async function open(
  t: Parameters<typeof testDatabase>[0],
): Promise<{ db: Db; ingest: (step: ChainStep) => Promise<Outcome> }> {
  const { db } = await testDatabase(t)
  const epoch = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
  return { db, ingest: (step) => ingestStep(db, IDENTITY, epoch, step) }
}

/** The promises that every state of the database must keep, against the chain's own truth. */
async function checkState(t: Tap, db: Db, chain: RandomChain): Promise<void> {
  const rows = await recordsWithKeys(db)
  const shown = chain.events.filter(isEvmLoanEvent)
  t.same(
    rows.map((row) => `${row.naturalKey} ${row.loanId}`).sort(),
    shown.map((event) => `${naturalKey(event)} ${event.loanId}`).sort(),
    'the records are the chain’s events, each once',
  )
  t.same(await miscounts(db), [], 'each record is found by its number')
  t.ok(
    rows.every((row, index) => index === 0 || row.createdAt >= (rows[index - 1]?.createdAt ?? row.createdAt)),
    'createdAt never decreases with id',
  )
  const loans = await db.selectFrom('projection.loans').select('loan_id').execute()
  t.same(
    loans.map((loan) => loan.loan_id).sort(),
    [...new Set(shown.map((event) => event.loanId))].sort(),
    'the loans are those that the chain knows',
  )
}
type Tap = Parameters<typeof testDatabase>[0]

void t.test(
  'any story of blocks, reorgs and repeated steps ends in the chain’s truth, and a replay in the same rows',
  async (t) => {
    const { db } = await testDatabase(t)
    let story = 0
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(
          fc.record({
            grow: fc.integer({ min: 1, max: 5 }),
            depth: fc.integer({ min: 0, max: 6 }),
            again: fc.boolean(),
          }),
          {
            minLength: 1,
            maxLength: 12,
          },
        ),
        async (seed, acts) => {
          await sql`truncate ledger.event_log, ledger.chain_position, ledger.block_headers,
          ledger.ranges_read, projection.activity, projection.activity_counts, projection.loans, projection.loan_lists,
          ledger.block_positions, projection.activity_past, projection.loan_lists_past, projection.daily, projection.derived_states, projection.channels_past`.execute(
            db,
          )
          await sql`update ledger.log_head set last_position = 0`.execute(db)
          await sql`update projection.fold_state set version = gen_random_uuid(), folded_position = 0, records = 0`.execute(
            db,
          )
          story += 1
          const epoch = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
          const ingest = (step: ChainStep): Promise<Outcome> => ingestStep(db, IDENTITY, epoch, step)
          const chain = new RandomChain(seed)
          await ingest(chain.genesis())
          for (const act of acts) {
            const depth = Math.min(act.depth, chain.blocks.length - 1)
            const step = depth > 0 ? chain.reorg(depth, act.grow) : chain.grow(act.grow)
            const before = new Map((await recordsWithKeys(db)).map((row) => [row.naturalKey, row]))
            t.equal(await ingest(step), 'applied')
            if (act.again) t.equal(await ingest(step), 'seen')
            for (const row of await recordsWithKeys(db)) {
              const was = before.get(row.naturalKey)
              if (was !== undefined && (was.id !== row.id || +was.createdAt !== +row.createdAt)) {
                t.fail(`the record ${row.naturalKey} changed its id or createdAt`)
              }
            }
          }
          await checkState(t, db, chain)
          const digest = await digestReadModel(db)
          await replay(db, {
            restart: true,
            signal: new AbortController().signal,
            onProgress: () => undefined,
          })
          t.same(await digestReadModel(db), digest, 'replay gives the same rows, ids and times')
        },
      ),
      { numRuns: cases(25) },
    )
    t.ok(story >= cases(25))
  },
)

void t.test('the log keeps an event as the text it came as', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(11)
  await ingest(chain.genesis())
  while (chain.events.length === 0) await ingest(chain.grow(5))
  const { rows } = await sql<{ body: string }>`
    select body::text from ledger.event_log order by block_number, log_index`.execute(db)
  t.same(
    rows.map(({ body }) => body),
    chain.events.map((event) => JSON.stringify(event)),
  )
})

void t.test('a step is applied if and only if it continues the position', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(7)
  const genesis = chain.genesis()
  const first = chain.grow(2)
  const second = chain.grow(2)
  t.equal(await ingest(first), 'future', 'nothing was read yet')
  t.equal(await ingest(genesis), 'applied')
  t.equal(await ingest(second), 'future', 'steps are missing')
  t.equal(await ingest(first), 'applied')
  t.equal(await ingest(first), 'seen')
  t.equal(await ingest({ ...second, after: { number: first.to.number, hash: '0xother' } }), 'broken')
  t.equal(await ingest(second), 'applied')
  const reorg = chain.reorg(3, 4)
  t.equal(await ingest({ ...reorg, ancestor: { ...reorg.ancestor, hash: '0xother' } }), 'broken')
  t.equal(await ingest({ ...reorg, replaces: { number: 99, hash: '0x' } }), 'future')
  const finalize = (block: BlockRef): Promise<Outcome> => ingest({ type: 'finalized', block })
  const left = first.headers.find(({ number }) => number === reorg.ancestor.number + 1)
  if (left === undefined) throw new Error('the reorg leaves no block of the first step')
  t.equal(await finalize({ number: second.to.number + 1, hash: '0x' }), 'future')
  t.equal(
    await finalize({ number: second.to.number, hash: '0xother' }),
    'broken',
    'the position is another block',
  )
  t.equal(await finalize({ number: left.number, hash: '0xother' }), 'broken', 'of a branch that is not ours')
  t.equal(await finalize(left), 'applied')
  t.equal(await finalize(left), 'seen')
  t.equal(await ingest(reorg), 'broken', 'a final block is never rolled back')
  const rows = await recordsWithKeys(db)
  t.equal(rows.length, chain.blocks.length > 0 ? rows.length : -1)
})

void t.test('a writer that was overtaken writes nothing', async (t) => {
  const { db } = await testDatabase(t)
  const chain = new RandomChain(11)
  const old = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
  const now = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
  t.ok(now > old)
  t.equal(await ingestStep(db, IDENTITY, old, chain.genesis()), 'void')
  t.equal(await ingestStep(db, IDENTITY, now, chain.genesis()), 'applied')
})

void t.test('two writers at once: every step is applied once, ids follow the order of commits', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(3)
  const steps = [chain.genesis(), ...Array.from({ length: 20 }, () => chain.grow(3))]
  for (const step of steps) {
    const outcomes = await Promise.all([ingest(step), ingest(step), ingest(step)])
    t.same(outcomes.sort(), ['applied', 'seen', 'seen'])
  }
  await checkState(t, db, chain)
})

void t.test('the log refuses to be changed', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(5)
  await ingest(chain.genesis())
  await ingest(chain.grow(10))
  await t.rejects(db.deleteFrom('ledger.event_log').execute(), /append-only/)
  await t.rejects(db.updateTable('ledger.event_log').set({ kind: 'x' }).execute(), /append-only/)
})

void t.test('times never go back, whatever the clock does', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(13)
  await ingest(chain.genesis())
  const future = new Date(Date.now() + 3_600_000)
  await db.updateTable('ledger.log_head').set({ last_recorded_at: future }).execute()
  await ingest(chain.grow(10))
  const rows = await recordsWithKeys(db)
  t.ok(rows.length > 0)
  t.ok(
    rows.every((row) => +row.createdAt === +future),
    'an hour ahead is kept until the clock is there again',
  )
})

void t.test('an event that comes back in a later step is a new record, and its key counts on', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(17)
  await ingest(chain.genesis())
  await ingest(chain.grow(6))
  const before = await recordsWithKeys(db)
  const gone = chain.reorg(5, 5)
  t.equal(await ingest({ ...gone, events: [] }), 'applied')
  t.same(await recordsWithKeys(db), [])
  t.same(await db.selectFrom('projection.loans').selectAll().execute(), [])
  const again = chain.reorg(1, 1)
  const events = before.flatMap((row) => chain.events.filter((event) => naturalKey(event) === row.naturalKey))
  t.ok(events.length > 0)
  const moved = events.map((event) => ({ ...event, blockNumber: again.to.number, blockHash: again.to.hash }))
  t.equal(await ingest({ ...again, events: moved }), 'applied')
  const after = await recordsWithKeys(db)
  t.equal(after.length, moved.length)
  const lastId = Math.max(...before.map((row) => row.id))
  t.ok(
    after.every((row) => row.id > lastId),
    'ids become visible in their order',
  )
  const { rows: revisions } = await sql`select distinct revision from ${LIVE_ENTRIES} live`.execute(db)
  t.same(revisions, [{ revision: 3 }], 'came, went and came again')
})

void t.test('a reorg to a lower head leaves no evidence of the blocks it removes', async (t) => {
  const { db, ingest } = await open(t)
  const chain = new RandomChain(19)
  await ingest(chain.genesis())
  await ingest(chain.grow(6))
  const reorg = chain.reorg(5, 2)
  t.equal(await ingest(reorg), 'applied')
  const ranges = (): Promise<unknown> =>
    db.selectFrom('ledger.ranges_read').select(['from_number', 'to_number', 'counts']).execute()
  t.same(await ranges(), [{ from_number: 0, to_number: 3, counts: [4] }])
  t.equal(await ingest(chain.grow(1)), 'applied')
  t.same(await ranges(), [{ from_number: 0, to_number: 4, counts: [5] }])
})
