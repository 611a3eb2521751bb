import { sql } from 'kysely'
import t from 'tap'
import { createNextSchema } from '../../../indexer/projections/schemas.store.ts'
import { up as first } from '../../../migrations/2026-11-21-event-log-and-read-model.ts'
import { up as second } from '../../../migrations/2026-11-21-loans-by-their-own-columns.ts'
import { up as third } from '../../../migrations/2026-11-21-records-of-gone-channels.ts'
import { up as fourth } from '../../../migrations/2026-11-22-log-without-copies.ts'
import { up as fifth } from '../../../migrations/2026-11-22-records-of-a-kind.ts'
import { up as sixth } from '../../../migrations/2026-11-22-the-log-by-its-keys.ts'
import { up as seventh } from '../../../migrations/2026-11-22-what-a-kind-says-as-json.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'

const HOSTILE = 'a"b\\c\nd'

void t.test('kinds that were there before say in JSON what they said', async (t) => {
  const { db } = await testDatabase(t, { migrated: false })
  const anyDb = withoutTables(db)
  for (const up of [first, second, third, fourth, fifth, sixth]) await up(anyDb)
  await sql`insert into projection.record_kinds values (1, ${HOSTILE}, ${HOSTILE}, ${HOSTILE}, ${HOSTILE}, null)`.execute(
    db,
  )
  await seventh(anyDb)
  const read = async (schema: string): Promise<unknown> => {
    const { rows } = await sql<{ json: string }>`
      select '{"x":0' || json_before_loan || '0' || json_after_loan || '}' as json
      from ${sql.table(`${schema}.record_kinds`)}`.execute(db)
    return rows.map(({ json }) => JSON.parse(json) as unknown)
  }
  const said = {
    ...{ x: 0, event: HOSTILE, loanId: 0, blockchain: HOSTILE, networkId: HOSTILE },
    ...{ contractAddress: null, loanType: HOSTILE },
  }
  t.same(await read('projection'), [said])

  await createNextSchema(db)
  await sql`insert into projection_next.record_kinds
    values (1, ${HOSTILE}, ${HOSTILE}, ${HOSTILE}, ${HOSTILE}, null)`.execute(db)
  t.same(await read('projection_next'), [said], 'in a read model that is built anew, too')
})
