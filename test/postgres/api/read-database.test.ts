import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { testDatabase } from '../../helpers/database.ts'

/** A pool that is told nothing ends what was idle for ten seconds. */
const LULL_MS = 11_000

void t.test('a connection outlives a lull', async (t) => {
  const { url } = await testDatabase(t)
  const database = openReadDatabase(url, { onError: (error) => t.error(error) })
  const session = (): Promise<object[]> =>
    database.rows({ name: 'session', text: 'select pg_backend_pid() as session' })
  const before = await session()
  await sleep(LULL_MS)
  t.same(await session(), before)
  await database.close()
})
