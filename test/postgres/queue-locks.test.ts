import { sql } from 'kysely'
import t from 'tap'
import { findQueueBlocker } from '../../indexer/queue-locks.store.ts'
import { testDatabase } from '../helpers/database.ts'
import { strangerOf } from '../helpers/stranger.ts'

void t.test('a role that holds up the queue’s advisory lock is named', async (t) => {
  const { url, db } = await testDatabase(t)
  const { role, stranger } = await strangerOf(t, { url, db })
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
