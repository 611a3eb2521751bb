import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { connect, type Db } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'
import { RandomChain } from '../../helpers/random-chain.ts'

/** Entries of the log's indexes that were read so far; of a pool of one connection. */
async function indexEntriesRead(db: Db): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ read: number }>`
    select sum(idx_tup_read)::float8 as read from pg_stat_user_indexes where relname = 'event_log'`.execute(
    db,
  )
  return rows[0]?.read ?? Number.NaN
}

for (const known of ['nothing', 'another network', 'this network']) {
  void t.test(`a step reads what it is about, where the statistics know ${known}`, (t) => lookUps(t, known))
}

async function lookUps(t: Test, known: string): Promise<void> {
  const { url } = await testDatabase(t)
  const db = connect(url, { name: 'test log-lookups', max: 1 })
  t.teardown(() => db.destroy())
  const write = async (network: string, chain: RandomChain, steps: number): Promise<void> => {
    const epoch = await raiseEpoch(db, network, 'writer', { startNumber: 0, watched: {} })
    await ingestStep(db, { network, blockchain: 'TEST' }, epoch, chain.genesis())
    for (let step = 0; step < steps; step += 1) {
      await ingestStep(db, { network, blockchain: 'TEST' }, epoch, chain.grow(100))
    }
  }
  await write('evm:1', new RandomChain(1), 20)
  if (known === 'another network') await sql`analyze ledger.event_log`.execute(db)
  const chain = new RandomChain(2)
  await write('evm:2', chain, 10)
  if (known === 'this network') await sql`analyze ledger.event_log`.execute(db)
  // A session keeps its plans.
  await sql`discard plans`.execute(db)

  const epoch = await raiseEpoch(db, 'evm:2', 'writer', { startNumber: 0, watched: {} })
  const identity = { network: 'evm:2', blockchain: 'TEST' }
  const before = await indexEntriesRead(db)
  const step = chain.grow(100)
  t.equal(await ingestStep(db, identity, epoch, step), 'applied')
  const grown = (await indexEntriesRead(db)) - before
  t.ok(step.events.length > 100)
  t.ok(grown <= 5 * step.events.length, `${grown} entries read for ${step.events.length} events`)

  const reorg = chain.reorg(60, 61)
  const held = step.events.length
  const beforeReorg = await indexEntriesRead(db)
  t.equal(await ingestStep(db, identity, epoch, reorg), 'applied')
  const replaced = (await indexEntriesRead(db)) - beforeReorg
  const most = 50 * (held + reorg.events.length)
  t.ok(
    replaced <= most,
    `${replaced} entries read for ${reorg.events.length} events in the place of at most ${held}`,
  )
}
