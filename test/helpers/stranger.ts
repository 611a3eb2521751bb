import { sql } from 'kysely'
import type { Test } from 'tap'
import { connect, type Db } from '../../shared/db/connect.ts'
import type { TestDatabase } from './database.ts'

let made = 0

/** A role that may connect to the database and nothing else, with a connection of its own. Teardown drops it. */
export async function strangerOf(
  t: Test,
  { url, db }: Pick<TestDatabase, 'url' | 'db'>,
): Promise<{ role: string; stranger: Db }> {
  made += 1
  const role = `stranger_${process.pid}_${made}`
  await sql`create role ${sql.id(role)} login password 'x'`.execute(db)
  const strangerUrl = new URL(url)
  strangerUrl.username = role
  strangerUrl.password = 'x'
  const stranger = connect(strangerUrl.href, { name: 'stranger', max: 1 })
  t.teardown(async () => {
    await stranger.destroy()
    await sql`drop role ${sql.id(role)}`.execute(db)
  })
  return { role, stranger }
}
