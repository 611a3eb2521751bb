import { sql } from 'kysely'
import t from 'tap'
import { up as first } from '../../../migrations/2026-11-21-event-log-and-read-model.ts'
import { up as second } from '../../../migrations/2026-11-21-loans-by-their-own-columns.ts'
import { up as third } from '../../../migrations/2026-11-21-records-of-gone-channels.ts'
import { up as fourth } from '../../../migrations/2026-11-22-log-without-copies.ts'
import { up as fifth } from '../../../migrations/2026-11-22-records-of-a-kind.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'
import { recordRows } from '../../helpers/log-views.ts'

void t.test('records that were written before say what they said, to whom may read them', async (t) => {
  const { db } = await testDatabase(t, { migrated: false })
  const anyDb = withoutTables(db)
  for (const up of [first, second, third, fourth]) await up(anyDb)
  const of = { blockchain: 'TEST', network_id: '1', updated_at: new Date(7), created_at: new Date(5) }
  const records = [
    { id: 1_000_000, event: 'Payback', loan_type: 'ERC20FIL', contract_address: '0xC1', ...of },
    { id: 2_000_000, event: 'Payback', loan_type: 'ERC20FIL', contract_address: '0xC2', ...of },
    { id: 3_000_000, event: 'Payback', loan_type: 'ERC20FIL', contract_address: '0xC1', ...of },
  ].map((record, index) => ({
    ...{ ...record, tx_hash: `0x${index}`, loan_id: `${index}` },
    ...{ network: null, channel: null, natural_key: null },
  }))
  const ofChannel = {
    ...{ id: 4_000_000, event: 'SettleChannel', loan_type: 'FILERC20', contract_address: null, ...of },
    ...{
      tx_hash: 'bafy',
      loan_id: '9',
      network: 'filecoin:1',
      channel: 'f2robust',
      natural_key: 'bafy/Settle',
    },
  }
  const all = [...records, ofChannel]
  for (const [index, record] of all.entries()) {
    const row = { ...record, network: record.network ?? 'evm:1' }
    await sql`
      insert into projection.activity (id, slot, network, natural_key, tx_hash, event, loan_id, blockchain, network_id,
        contract_address, loan_type, channel, created_at, updated_at)
      values (${row.id}, ${index + 1}, ${row.network}, ${row.natural_key}, ${row.tx_hash}, ${row.event}, ${row.loan_id},
        ${row.blockchain}, ${row.network_id}, ${row.contract_address}, ${row.loan_type}, ${row.channel},
        ${row.created_at}, ${row.updated_at})`.execute(db)
  }
  const reader = `reader_${process.pid}`
  await sql`create role ${sql.id(reader)}`.execute(db)
  t.teardown(() => sql`drop owned by ${sql.id(reader)}; drop role ${sql.id(reader)}`.execute(db))
  await sql`grant select on projection.activity to ${sql.id(reader)}`.execute(db)
  await fifth(anyDb)

  const found = await recordRows(db)
  t.match(found, all)
  t.equal(found.length, all.length)
  const { rows: kinds } = await sql<{
    kind: number
  }>`select kind from projection.activity order by id`.execute(db)
  t.same(
    kinds.map(({ kind }) => kind),
    [1, 2, 1, 3],
    'in the order of their first records',
  )
  const { rows: grants } = await sql`
    select has_table_privilege(${reader}, 'projection.activity', 'select') as records,
      has_table_privilege(${reader}, 'projection.record_kinds', 'select') as kinds`.execute(db)
  t.strictSame(grants, [{ records: true, kinds: true }])
})
