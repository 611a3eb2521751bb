import { sql } from 'kysely'
import t from 'tap'
import { findQueueBlocker } from '../../indexer/queue-locks.store.ts'
import { connect } from '../../shared/db/connect.ts'
import { testDatabase } from '../helpers/database.ts'

void t.test('a role that holds up the queue’s advisory lock is named', async (t) => {
  const { url, db } = await testDatabase(t)
  const role = `holder_${process.pid}`
  await sql`create role ${sql.id(role)} login password 'x'`.execute(db)
  const strangerUrl = new URL(url)
  strangerUrl.username = role
  strangerUrl.password = 'x'
  const stranger = connect(strangerUrl.href, { name: 'stranger', max: 1 })
  t.teardown(async () => {
    await stranger.destroy()
    await sql`drop role ${sql.id(role)}`.execute(db)
  })
  t.equal(await findQueueBlocker(db), undefined)
  const lock = sql`select pg_advisory_lock(1), pg_backend_pid() as pid`
  const { rows } = await lock.execute(stranger)
  const waiting = lock.execute(db)
  let blocker: unknown
  for (let looks = 0; looks < 200 && blocker === undefined; looks += 1) {
    blocker = await findQueueBlocker(db)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.match(blocker, { role, pid: (rows[0] as { pid: number }).pid })
  await sql`select pg_advisory_unlock_all()`.execute(stranger)
  await waiting
})
