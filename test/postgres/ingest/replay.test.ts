import fc from 'fast-check'
import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { getEntriesBetween, getHeldEntriesOf, getLastPosition } from '../../../indexer/event-log/read-log.ts'
import { ingestStep, replaceEvents } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { stepsOf } from '../../../shared/events/entry-steps.ts'
import { connect } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { LogEntry } from '../../../shared/events/log-entry.ts'
import { testDatabase } from '../../helpers/database.ts'
import { eventually } from '../../helpers/programs.ts'
import { EVM, FILECOIN, ingestLedger, ingestStories } from '../../helpers/ingest-ledger.ts'
import { RandomChain } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'
import { cases } from '../../helpers/cases.ts'

void t.test(
  'who reads for long holds up the end of a replay, and neither writers nor an interruption',
  async (t) => {
    const { db } = await testDatabase(t)
    await ingestStories(db, tellStories(3, 4))
    const digest = await digestReadModel(db)
    const run = (signal: AbortSignal): Promise<boolean> =>
      replay(db, { restart: true, signal, onProgress: () => undefined })
    let finished: Promise<boolean> | undefined
    await db.transaction().execute(async (trx) => {
      // As an autovacuum has it, and without giving way.
      await sql`lock table projection.activity in share update exclusive mode`.execute(trx)
      const stop = new AbortController()
      const interrupted = run(stop.signal)
      for (let look = 0; look < 30; look += 1) {
        await sleep(50)
        await db
          .transaction()
          .execute((own) => sql`select from ledger.log_head for update nowait`.execute(own))
      }
      stop.abort()
      t.equal(await interrupted, false, 'it is interrupted')
      t.same(await digestReadModel(db), digest, 'the old read model is read')
      finished = run(new AbortController().signal)
      await sleep(500)
    })
    t.equal(await finished, true, 'it ends when nobody reads for long any more')
    t.same(await digestReadModel(db), digest)
  },
)

void t.test('entries that come while the last part is folded are in the new read model', async (t) => {
  const { db } = await testDatabase(t)
  const stories = tellStories(3, 4)
  await ingestLedger(db, FILECOIN, stories.filecoin)
  const quiet = { onProgress: () => undefined }
  // Makes the new read model and folds nothing.
  t.equal(await replay(db, { restart: true, signal: AbortSignal.abort(), ...quiet }), false)
  let finished: Promise<boolean> | undefined
  await db.transaction().execute(async (trx) => {
    await sql`select from projection_next.fold_state for update`.execute(trx)
    finished = replay(db, { restart: false, signal: new AbortController().signal, ...quiet })
    await eventually('the replay has read all entries and waits to write them', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        db,
      )
      return rows.length > 0
    })
    await ingestLedger(db, EVM, stories.evm)
  })
  t.equal(await finished, true)
  const digest = await digestReadModel(db)
  t.equal(digest.foldedPosition, await getLastPosition(db))
  await replay(db, { restart: true, signal: new AbortController().signal, ...quiet })
  t.same(await digestReadModel(db), digest)
})

void t.test('a read model that lacks entries of the log takes no step, and says what to do', async (t) => {
  const { db } = await testDatabase(t)
  const stories = tellStories(3, 4)
  await ingestLedger(db, EVM, stories.evm)
  await sql`update projection.fold_state set folded_position = folded_position - 1`.execute(db)
  const position = await getLastPosition(db)
  await t.rejects(
    ingestLedger(db, FILECOIN, stories.filecoin),
    new RegExp(`^projection is folded up to entry ${position - 1} and not ${position}: run \`ops replay\`$`),
  )
  t.equal(await getLastPosition(db), position, 'the log is as before')
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  await t.resolves(ingestLedger(db, FILECOIN, stories.filecoin))
})

void t.test('a connection that is ended while others read is not missed', async (t) => {
  const { db, url } = await testDatabase(t)
  await ingestStories(db, tellStories(3, 4))
  const digest = await digestReadModel(db)
  const lost: string[] = []
  const made: string[] = []
  const own = connect(url, { name: 'replaying', onError: ({ message }) => lost.push(message) })
  t.teardown(() => own.destroy())
  let finished: Promise<boolean> | undefined
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.activity in share update exclusive mode`.execute(trx)
    finished = replay(own, {
      restart: true,
      signal: new AbortController().signal,
      onProgress: ({ index }) => {
        if (index !== undefined) made.push(index)
      },
    })
    finished.catch(() => undefined)
    // For so long nothing is asked on any of them between two attempts only.
    const endIdle = async (): Promise<number> => {
      const { rows } = await sql`
        with own as (
          select * from pg_stat_activity where application_name = 'replaying' and datname = current_database())
        select pg_terminate_backend(pid) from own
        where (select bool_and(state = 'idle') and max(state_change) < now() - interval '0.5 s' from own)`.execute(
        db,
      )
      return rows.length
    }
    for (let look = 0; look < 1_000 && (await endIdle()) === 0; look += 1) await sleep(20)
    for (let look = 0; look < 1_000 && lost.length === 0; look += 1) await sleep(20)
  })
  t.ok(lost.length > 0, `${lost.length} connections were ended`)
  t.equal(await finished, true)
  t.ok(made.length > 4)
  t.equal(new Set(made).size, made.length, 'no attempt makes again what the one before has made')
  t.same(await digestReadModel(db), digest)
})

void t.test(
  'the new read model has the indexes of the old one, also when it was interrupted among them',
  async (t) => {
    const { db } = await testDatabase(t)
    await ingestStories(db, tellStories(5, 4))
    const indexes = async (): Promise<unknown[]> => {
      const { rows } = await sql`
      select tablename, indexname, indexdef from pg_indexes where schemaname = 'projection' order by 1, 2`.execute(
        db,
      )
      return rows
    }
    const [digest, before] = [await digestReadModel(db), await indexes()]
    t.ok(before.length > 10)
    const made: string[] = []
    for (let run = 1; ; run += 1) {
      const stop = new AbortController()
      const seen = made.length
      const finished = await replay(db, {
        restart: run === 1,
        signal: stop.signal,
        onProgress: ({ index }) => {
          if (index === undefined) return
          if (made.length > seen) stop.abort()
          made.push(index)
        },
      })
      t.same(await digestReadModel(db), digest)
      if (finished) break
    }
    t.same(await indexes(), before)
    t.ok(made.length > 4, `${made.length} indexes were made after the rows`)
    const ofChannels = made.filter((name) => /^(channels_|activity_(channel|natural_key)$)/.test(name))
    t.same(
      ofChannels,
      [],
      'and none of them for rows of payment channels, which come when there are channels',
    )
    t.equal(new Set(made).size, made.length, 'each of them once')
  },
)

void t.test(
  'the new read model has the settings of the old one, and rows without room between them',
  async (t) => {
    const { db } = await testDatabase(t)
    await ingestLedger(db, EVM, tellStories(13, 40).evm)
    await sql`alter table projection.loans set (fillfactor = 10, autovacuum_vacuum_threshold = 77)`.execute(
      db,
    )
    await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
    const { rows } = await sql<{ settings: string[]; loans: number; pages: number }>`
      select array(select unnest(reloptions) order by 1) as settings, (select count(*) from projection.loans) as loans,
        pg_relation_size(oid) / current_setting('block_size')::integer as pages
      from pg_class where oid = 'projection.loans'::regclass`.execute(db)
    const [table] = rows
    t.same(table?.settings, ['autovacuum_vacuum_threshold=77', 'fillfactor=10'])
    // A tenth of a page is less than one loan.
    t.ok(
      table !== undefined && table.pages < table.loans / 3,
      `${table?.loans} loans have ${table?.pages} pages`,
    )
  },
)

void t.test(
  'a row of the log that cannot be ends a replay by its name, and what is read stays',
  async (t) => {
    const { db } = await testDatabase(t)
    await ingestStories(db, tellStories(7, 2))
    const digest = await digestReadModel(db)
    // As a hand or a careless restore leaves it: the table's own checks let a JSON null pass.
    await sql`
    with head as (update ledger.log_head set last_position = last_position + 1 returning last_position)
    insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, kind, block_number,
      block_hash, log_index, body, recorded_at)
    select last_position, last_position, 'evm:1', 'X', 'append', 'none', 1, 'Payback', 1, '0x', 0, 'null', now() from head`.execute(
      db,
    )
    await t.rejects(
      replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined }),
      /^log entry \d+ \(append\) lacks its body or its origin/,
    )
    t.same(await digestReadModel(db), digest)
  },
)

void t.test('an index that cannot be made is told once no other is being made', async (t) => {
  const { db } = await testDatabase(t)
  // Without payment channels, so that the rows are there before the indexes.
  const { evm } = tellStories(3, 4)
  const blocks = { from: 0, to: evm.at(-1)?.blockNumber ?? 0 }
  await inTransaction(db, (trx) => replaceEvents(trx, EVM, blocks, evm, 'reindex'))
  const digest = await digestReadModel(db)
  const define = async (name: 'asked' | 'asked_slowly', body: string): Promise<void> => {
    await sql`create or replace function public.${sql.raw(name)}(id bigint) returns bigint immutable language plpgsql
      as ${sql.lit(`begin ${body} end`)}`.execute(db)
  }
  await define('asked', 'return id;')
  await define('asked_slowly', 'perform pg_sleep(0.05); return id;')
  // By their tables, which have a page each, and by their names the first and the last: these two are begun first.
  await sql`create index activity_asked on projection.activity (public.asked(id))`.execute(db)
  await sql`create index loans_which_asks_slowly on projection.loans (public.asked_slowly(id))`.execute(db)
  await define('asked', `raise 'nobody knows';`)
  const run = (restart: boolean): Promise<boolean> =>
    replay(db, { restart, signal: new AbortController().signal, onProgress: () => undefined })
  await t.rejects(run(true), /nobody knows/)
  const { rows } = await sql`
    select query from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`.execute(db)
  t.same(rows, [], 'nothing is under way')
  t.same(await digestReadModel(db), digest, 'the old read model is read')
  await define('asked', 'return id;')
  t.equal(await run(false), true, 'it goes on where it was')
  t.same(await digestReadModel(db), digest)
})

void t.test('tables that cannot be made end a replay, and the next one goes on', async (t) => {
  const { db } = await testDatabase(t)
  await ingestStories(db, tellStories(7, 2))
  const digest = await digestReadModel(db)
  await sql`create function public.refuse() returns event_trigger language plpgsql
    as $$ begin raise 'not now'; end $$`.execute(db)
  await sql`create event trigger refuse on ddl_command_start when tag in ('CREATE SCHEMA')
    execute function public.refuse()`.execute(db)
  const run = (): Promise<boolean> =>
    replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  await t.rejects(run(), /not now/)
  await sql`drop event trigger refuse`.execute(db)
  t.equal(await run(), true)
  t.same(await digestReadModel(db), digest)
})

void t.test('events that are found later, between others, are the same loans after a replay', async (t) => {
  const { evm } = tellStories(7, 6)
  const rounds = 3
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(rounds - 1), { minLength: evm.length, maxLength: evm.length }),
      async (round) => {
        const { db } = await testDatabase(t)
        for (let now = 0; now < rounds; now += 1) {
          const found = evm.filter((_, index) => (round[index] ?? 0) <= now)
          const blocks = { from: 0, to: evm.at(-1)?.blockNumber ?? 0 }
          await inTransaction(db, (trx) => replaceEvents(trx, EVM, blocks, found, 'reindex'))
          // Each round has a time of its own.
          await sleep(5)
        }
        const digest = await digestReadModel(db)
        const { signal } = new AbortController()
        await replay(db, { restart: true, signal, onProgress: () => undefined })
        t.same(await digestReadModel(db), digest)
      },
    ),
    { numRuns: cases(8) },
  )
})

void t.test('what the log holds as of each step is what its entries say one after the other', async (t) => {
  const { db } = await testDatabase(t)
  const { evm } = tellStories(9, 6)
  const blocks = { from: 0, to: evm.at(-1)?.blockNumber ?? 0 }
  // The same contracts on two networks: keys and loans of one are those of the other.
  const networks = [EVM, { ...EVM, network: 'evm:31338' }]
  // Those that go in the third round come again, and some of them go again.
  for (const left of [3, 0, 2, 0, 3, 0]) {
    const found = evm.filter((_, index) => left === 0 || index % left !== 0)
    for (const identity of networks)
      await inTransaction(db, (trx) => replaceEvents(trx, identity, blocks, found, 'reindex'))
  }
  const log = stepsOf((await getEntriesBetween(db, 0, 1_000_000)).map(({ entry }) => entry))
  t.equal(log.length, 12)
  t.ok(log.flat().some(({ op }) => op === 'retract'))
  const subjects = [...new Set(log.flat().flatMap(({ subject }) => subject ?? []))]
  const held = new Map<number, LogEntry>()
  for (const step of log) {
    for (const entry of step) {
      if (entry.op === 'retract') held.delete(entry.origin)
      else held.set(entry.origin ?? entry.position, entry)
    }
    const last = step.at(-1)?.position ?? 0
    const read = await inTransaction(db, (trx) => getHeldEntriesOf(trx, subjects, last))
    t.same(
      read.toSorted((a, b) => a.position - b.position),
      [...held.values()].filter(({ subject }) => subject !== null).sort((a, b) => a.position - b.position),
    )
  }
})

void t.test(
  'a long log is replayed in parts, channels late in it, however often it is interrupted',
  async (t) => {
    const { db } = await testDatabase(t)
    const chain = new RandomChain(11)
    const identity = { network: 'evm:1', blockchain: 'LONG' }
    const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
    await ingestStep(db, identity, epoch, chain.genesis())
    for (const blocks of [500, 40, 600, 3]) await ingestStep(db, identity, epoch, chain.grow(blocks))
    await ingestStories(db, tellStories(11, 3))
    for (const blocks of [700, 600, 700, 600]) await ingestStep(db, identity, epoch, chain.grow(blocks))
    const digest = await digestReadModel(db)
    t.ok(digest.foldedPosition > 2000, `${digest.foldedPosition} entries`)
    const { rows } = await sql<{ first: number }>`
      select min(position) as first from ledger.event_log where network not like 'evm:%'`.execute(db)
    let indexedFrom = digest.foldedPosition
    let runs = 0
    for (let finished = false; !finished; runs += 1) {
      const stop = new AbortController()
      finished = await replay(db, {
        restart: runs === 0,
        signal: stop.signal,
        onProgress: ({ index, foldedPosition }) => {
          if (index !== undefined) indexedFrom = Math.min(indexedFrom, foldedPosition)
          // Once after each chunk, and not for each index.
          if (index === undefined && runs < 4) stop.abort()
        },
      })
    }
    t.ok(runs > 2, `${runs} runs`)
    const firstOfChannels = rows[0]?.first ?? 0
    t.ok(
      indexedFrom < firstOfChannels,
      `indexes from ${indexedFrom} on, a payment channel may come from ${firstOfChannels}`,
    )
    t.same(await digestReadModel(db), digest)
  },
)
