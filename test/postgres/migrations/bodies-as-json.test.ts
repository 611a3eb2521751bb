import { sql } from 'kysely'
import t from 'tap'
import { up } from '../../../migrations/2026-11-23-bodies-as-json.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'
import { migrateBefore } from '../../helpers/migrate-before.ts'

void t.test(
  'bodies that were written before stay what they are, and the log as strict as it was',
  async (t) => {
    const { db } = await testDatabase(t, { migrated: false })
    await migrateBefore(db, '2026-11-23-bodies-as-json.ts')
    const body = { terms: { values: {} }, kind: 'Payback', args: { borrower: '0x01', amount: '1' } }
    const add = (position: number, op: string, json: string | null): Promise<unknown> =>
      sql`insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, kind, block_number,
        block_hash, log_index, body, recorded_at, origin)
      values (${position}, ${position}, 'evm:1', 'TEST', ${op}, 'a', ${position}, 'Payback', 1, '0x01', 0, ${json}, now(),
        ${op === 'append' ? null : 1})`.execute(db)
    await add(1, 'append', JSON.stringify(body))
    await add(2, 'retract', null)
    await up(withoutTables(db))

    await add(3, 'append', JSON.stringify(body))
    const { rows } = await sql<{ body: unknown; text: string | null }>`
    select body, body::text as text from ledger.event_log order by position`.execute(db)
    t.strictSame(
      rows.map((row) => row.body),
      [body, null, body],
    )
    t.equal(rows[2]?.text, JSON.stringify(body), 'what is written now stands as it came')
    await t.rejects(add(4, 'append', null), /check constraint/)
    await t.rejects(add(4, 'retract', '{}'), /check constraint/)
    await t.rejects(add(4, 'append', '{"kind":'), /invalid input syntax for type json/)
    await t.rejects(sql`update ledger.event_log set body = '{}'`.execute(db), /append-only/)
  },
)
