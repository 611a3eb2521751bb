import { sql } from 'kysely'
import t from 'tap'
import { testDatabase } from '../../../helpers/database.ts'

void t.test('a bigint column is read as an exact integer or not at all', async (t) => {
  const { db } = await testDatabase(t)
  const read = async (text: string): Promise<unknown> =>
    (await sql<{ value: unknown }>`select ${text}::int8 as value`.execute(db)).rows[0]?.value
  t.equal(await read('0'), 0)
  t.equal(await read('-5'), -5)
  t.equal(await read('9007199254740991'), Number.MAX_SAFE_INTEGER)
  await t.rejects(read('9007199254740992'), /9007199254740992 from the database is beyond the safe integers/)
  await t.rejects(read('9223372036854775807'), RangeError)
})
