import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { testDatabase } from '../../helpers/database.ts'
import { describeSchema } from '../../helpers/describe-schema.ts'

const SNAPSHOT = new URL('./schema.txt', import.meta.url)

/** After a new migration: `UPDATE_SCHEMA=1 npm test -- test/postgres/migrations/schema.test.ts`, and look at the difference. */
void t.test('a migrated database has the schema of the snapshot', async (t) => {
  const { db } = await testDatabase(t)
  const schema = await describeSchema(db)
  if (process.env['UPDATE_SCHEMA'] === '1') writeFileSync(SNAPSHOT, schema)
  t.equal(schema, readFileSync(SNAPSHOT, 'utf8'))
})
