import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Db } from '../../../shared/db/connect.ts'
import { startApi, type Ended } from '../../helpers/api-process.ts'
import { testDatabase } from '../../helpers/database.ts'

const SECRET = 'top-secret-password'

/** One clear line on stderr that names what is wrong; nothing else, and no password. */
function isOneLine(t: Test, ended: Ended, code: number, line: RegExp): void {
  t.equal(ended.code, code, ended.stderr)
  t.match(ended.stderr, line)
  t.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr)
  t.equal(ended.stdout, '')
  t.notMatch(ended.stderr + ended.stdout, SECRET)
}

void t.test('it answers, and leaves with 0 on a signal or when its parent is gone', async (t) => {
  const { url } = await testDatabase(t)
  const ways: [what: string, stop: (child: ChildProcess) => unknown][] = [
    ['SIGTERM', (child) => child.kill('SIGTERM')],
    ['SIGINT', (child) => child.kill('SIGINT')],
    ['the parent is gone', (child) => child.disconnect()],
  ]
  for (const [what, stop] of ways) {
    const api = startApi(t, { DATABASE_URL: url, API_PORT: '0' }, { ipc: true })
    const address = await api.listening
    const response = await fetch(`${address}/api/activity/history`)
    t.strictSame(await response.json(), { status: 'OK', payload: [], pages: 0 })
    stop(api.child)
    t.match(await api.ended, { code: 0, stderr: '' }, what)
  }
})

void t.test('what was asked before the signal is answered after it', async (t) => {
  const { url, db } = await testDatabase(t)
  const api = startApi(t, { DATABASE_URL: url, API_PORT: '0' })
  const address = await api.listening
  await fetch(`${address}/api/activity/history`)
  let asked: Promise<Response> | undefined
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.activity in access exclusive mode`.execute(trx)
    asked = fetch(`${address}/api/activity/history/2`)
    await waitForLock(db)
    api.child.kill('SIGTERM')
    await once(api.child.stdout ?? api.child, 'data')
  })
  const answeredAt = performance.now()
  t.equal((await asked)?.status, 200)
  t.match(await api.ended, { code: 0 })
  t.ok(performance.now() - answeredAt < 2000, 'and does not wait for who has nothing more to ask')
  await t.rejects(fetch(`${address}/healthz`), 'nobody listens any more')
})

void t.test('--help says what it does', async (t) => {
  const { code, stdout } = await startApi(t, {}, { args: ['--help'] }).ended
  t.equal(code, 0)
  t.match(stdout, /DATABASE_URL/)
})

void t.test('mistakes end in one line', async (t) => {
  const { url, db, serverUrl } = await testDatabase(t)
  const run = (env: Record<string, string>): Promise<Ended> => startApi(t, { API_PORT: '0', ...env }).ended
  isOneLine(t, await run({}), 2, /^api: DATABASE_URL is not set/)
  isOneLine(t, await run({ DATABASE_URL: `http://me:${SECRET}@h/db` }), 2, /DATABASE_URL must be a URL that/)
  isOneLine(t, await run({ DATABASE_URL: url, API_PORT: 'http' }), 2, /API_PORT must be a port number/)

  const wrong = url.replace(/:[^:@]*@/, `:${SECRET}@`)
  isOneLine(t, await run({ DATABASE_URL: wrong }), 1, /^api: DATABASE_URL: .*password/)
  isOneLine(
    t,
    await run({ DATABASE_URL: url, READ_DATABASE_URL: wrong }),
    1,
    /^api: READ_DATABASE_URL: .*authentication failed for user/,
  )
  isOneLine(t, await run({ DATABASE_URL: `${serverUrl}/nowhere` }), 1, /^api: DATABASE_URL: .*nowhere/)
  const closed = `postgres://me:${SECRET}@127.0.0.1:${await closedPort()}/db`
  isOneLine(t, await run({ DATABASE_URL: closed }), 1, /^api: DATABASE_URL: the database cannot be reached/)

  const empty = await testDatabase(t, { migrated: false })
  isOneLine(t, await run({ DATABASE_URL: empty.url }), 2, /lacks the migration .*npm run migrate/)
  await sql`insert into migration.kysely_migration (name, timestamp) values ('9999-newer', 'now')`.execute(db)
  isOneLine(t, await run({ DATABASE_URL: url }), 2, /9999-newer, which this version does not know/)
})

void t.test('a port in use, an address that is not ours', async (t) => {
  const { url } = await testDatabase(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const run = (env: Record<string, string>): Promise<Ended> =>
    startApi(t, { DATABASE_URL: url, ...env }).ended
  isOneLine(t, await run({ API_PORT: `${port}` }), 1, new RegExp(`API_PORT ${port} on 127.0.0.1 is in use`))
  taken.close()
  isOneLine(t, await run({ API_HOST: '192.0.2.1', API_PORT: '0' }), 1, /API_HOST/)
})

async function waitForLock(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity
      where application_name = 'loan-activity api' and wait_event_type = 'Lock'`.execute(db)
    if (rows.length > 0) return
  }
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
