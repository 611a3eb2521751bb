import { sql } from 'kysely'
import t from 'tap'
import { up as first } from '../../../migrations/2026-11-21-event-log-and-read-model.ts'
import { up } from '../../../migrations/2026-11-23-bodies-as-json.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'

void t.test(
  'bodies that were written before stay what they are, and the log as strict as it was',
  async (t) => {
    const { db } = await testDatabase(t, { migrated: false })
    await first(withoutTables(db))
    const body = { kind: 'Payback', args: { borrower: '0x01', amount: '1' }, terms: { values: {} } }
    const add = (position: number, op: string, json: string | null): Promise<unknown> =>
      sql`insert into ledger.event_log values (${position}, ${position}, 'evm:1', 'TEST', ${op}, 'a', ${position}, null, null,
      'Payback', 1, '0x01', 0, ${json}, null, now())`.execute(db)
    await add(1, 'append', JSON.stringify(body))
    await add(2, 'retract', null)
    await up(withoutTables(db))

    await add(3, 'append', JSON.stringify(body))
    const { rows } = await sql`select position, body from ledger.event_log order by position`.execute(db)
    t.strictSame(rows, [
      { position: 1, body },
      { position: 2, body: null },
      { position: 3, body },
    ])
    await t.rejects(add(4, 'append', null), /check constraint/)
    await t.rejects(add(4, 'retract', '{}'), /check constraint/)
    await t.rejects(add(4, 'append', '{"kind":'), /invalid input syntax for type json/)
    await t.rejects(sql`update ledger.event_log set body = '{}'`.execute(db), /append-only/)
  },
)
