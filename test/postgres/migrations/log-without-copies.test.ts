import { sql } from 'kysely'
import t from 'tap'
import { up as first } from '../../../migrations/2026-11-21-event-log-and-read-model.ts'
import { up as second } from '../../../migrations/2026-11-21-loans-by-their-own-columns.ts'
import { up as third } from '../../../migrations/2026-11-21-records-of-gone-channels.ts'
import { up as fourth } from '../../../migrations/2026-11-22-log-without-copies.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'

void t.test(
  'a log that was written before knows what each correction corrects, and records keep',
  async (t) => {
    const { db } = await testDatabase(t, { migrated: false })
    const anyDb = withoutTables(db)
    for (const up of [first, second, third]) await up(anyDb)
    await sql`
    insert into ledger.event_log
    select position, position, 'evm:1', 'TEST', op, key, revision, null, null, 'Payback', 1, '0x01', 0,
      case when op <> 'retract' then '{}'::jsonb end, null, now()
    from (values (1, 'append', 'a', 1), (2, 'append', 'b', 1), (3, 'replace', 'a', 2), (4, 'retract', 'a', 3),
      (5, 'append', 'a', 4), (6, 'replace', 'a', 5), (7, 'retract', 'b', 2)) entry(position, op, key, revision)`.execute(
      db,
    )
    await sql`
    insert into projection.activity (id, slot, network, natural_key, tx_hash, event, loan_id, blockchain, network_id,
      loan_type, channel, created_at, updated_at)
    select id, id / 1000000, 'evm:1', key, '0x01', 'Payback', '1', 'TEST', '1', 'ERC20FIL', channel, now(), now()
    from (values (5000000, 'a', null), (6000000, 'c', 'f2robust')) record(id, key, channel)`.execute(db)
    await sql`create schema projection_next`.execute(db)
    await fourth(anyDb)

    const { rows: origins } =
      await sql`select position, origin from ledger.event_log order by position`.execute(db)
    t.strictSame(origins, [
      { position: 1, origin: null },
      { position: 2, origin: null },
      { position: 3, origin: 1 },
      { position: 4, origin: 1 },
      { position: 5, origin: null },
      { position: 6, origin: 5 },
      { position: 7, origin: 2 },
    ])
    const { rows: records } = await sql`select id, natural_key from projection.activity order by id`.execute(
      db,
    )
    t.strictSame(records, [
      { id: 5_000_000, natural_key: null },
      { id: 6_000_000, natural_key: 'c' },
    ])
    await t.rejects(sql`update ledger.event_log set origin = 1`.execute(db), /append-only/)
    const { rows: left } = await sql`select 1 from pg_namespace where nspname = 'projection_next'`.execute(db)
    t.strictSame(left, [], 'a read model of the old shape is not gone on with')
  },
)
