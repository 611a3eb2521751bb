import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Db } from '../../../shared/db/connect.ts'
import { startApi, type ApiProcess } from '../../helpers/api-process.ts'
import { testDatabase } from '../../helpers/database.ts'
import { eventually } from '../../helpers/programs.ts'
import { KeepAliveClient } from '../../helpers/raw-http.ts'
import { seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'

t.setTimeout(120_000)

const HISTORY = '/api/activity/history'

interface Ground {
  db: Db
  api: ApiProcess
  port: number
}

/** An API whose one network is fresh. */
async function ground(t: Test): Promise<Ground> {
  const { url, db } = await testDatabase(t)
  await seedNetwork(db)
  await seedRecords(db, 1_000)
  const api = startApi(t, { DATABASE_URL: url, API_PORT: '0', API_RATE_LIMIT: 'off' })
  return { db, api, port: Number(new URL(await api.listening).port) }
}

/** One request on a connection of its own. */
async function ask(port: number, path: string): Promise<{ status: number; head: string }> {
  const client = new KeepAliveClient(port)
  try {
    return await client.get(path)
  } finally {
    client.close()
  }
}

/** A connection that has sent this. `received` is what came back; `closed` resolves when the server has ended it. */
async function open(t: Test, port: number, sent: string): Promise<Connection> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (more: string) => (text += more))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(sent)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return { socket, received: () => text, closed }
}

interface Connection {
  socket: Socket
  received: () => string
  closed: Promise<void>
}

const requestOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

async function untilRefused(port: number): Promise<void> {
  await eventually('nobody listens', async () => {
    const socket = connect(port, '127.0.0.1')
    const outcome = await Promise.race([
      once(socket, 'connect').then(() => 'connected'),
      once(socket, 'error').then(() => 'refused'),
    ]).catch(() => 'refused')
    socket.destroy()
    return outcome === 'refused'
  })
}

void t.test('a proxy sees 503 of /readyz first, while clients are still answered', async (t) => {
  const { api, port } = await ground(t)
  const client = new KeepAliveClient(port)
  const before = await client.get(HISTORY)
  t.equal(before.status, 200)
  t.notMatch(before.head, 'connection: close')
  t.equal((await ask(port, '/readyz')).status, 200)
  api.child.kill('SIGTERM')
  await api.said('stopping')
  // A proxy that checks every half second must find out while new connections are accepted.
  await sleep(500)
  const readiness = await ask(port, '/readyz')
  t.equal(readiness.status, 503)
  t.match(readiness.head, 'connection: close')
  t.match(readiness.head, 'content-type: application/json')
  for (const path of [HISTORY, '/api/status', '/healthz']) {
    const answer = await ask(port, path)
    t.equal(answer.status, 200, `${path} is answered`)
    t.match(answer.head, 'connection: close', `${path} ends its connection`)
  }
  const missing = await ask(port, '/nowhere')
  t.equal(missing.status, 404)
  t.match(missing.head, 'connection: close', 'an error ends its connection, too')
  const kept = await client.get(HISTORY)
  t.equal(kept.status, 200, 'an open connection is answered')
  t.match(kept.head, 'connection: close')
  t.match(await api.ended, { code: 0, stderr: '' })
  await t.rejects(ask(port, '/healthz'))
})

void t.test(
  'a request under way is answered although nobody listens any more, and the idle are closed',
  async (t) => {
    const { db, api, port } = await ground(t)
    const idle = await open(t, port, requestOf('/healthz'))
    await eventually('it is answered', () => idle.received().endsWith('}'))
    const silent = await open(t, port, '')
    let asked: Promise<{ status: number; head: string }> | undefined
    await db.transaction().execute(async (trx) => {
      await sql`lock table projection.activity in access exclusive mode`.execute(trx)
      asked = ask(port, `${HISTORY}/2`)
      await eventually('it waits for the lock', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length > 0
      })
      api.child.kill('SIGTERM')
      await untilRefused(port)
      await Promise.all([idle.closed, silent.closed])
      t.equal(api.child.exitCode, null, 'the process waits for the one request')
    })
    const answer = await asked
    t.equal(answer?.status, 200)
    t.match(answer?.head, 'connection: close')
    t.match(await api.ended, { code: 0, stderr: '' })
  },
)

void t.test('a client that takes its answers late gets them whole', async (t) => {
  const { api, port } = await ground(t)
  const path = '/api/activity?limit=200'
  const slow = await open(t, port, '')
  slow.socket.pause()
  // More than the system keeps for a connection: after this time the last answers wait in the API.
  slow.socket.write(requestOf(path).repeat(200))
  await sleep(1_000)
  api.child.kill('SIGTERM')
  await untilRefused(port)
  slow.socket.resume()
  await slow.closed
  const answers = slow.received().split(/(?=HTTP\/1\.1 )/)
  t.ok(answers.length > 1)
  for (const [index, answer] of answers.entries()) {
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    if (Buffer.byteLength(body) !== length)
      t.fail(`answer ${index + 1} of ${answers.length}: ${body.length} of ${length}`)
  }
  t.comment(`${answers.length} answers, ${slow.received().length} characters`)
  t.match(await api.ended, { code: 0, stderr: '' })
})

void t.test('a client that never completes its request does not hold the process', async (t) => {
  const { api, port } = await ground(t)
  const trickling = await open(t, port, `GET ${HISTORY} HTTP/1.1\r\n`)
  const more = setInterval(() => trickling.socket.write('a: b\r\n'), 200)
  t.teardown(() => clearInterval(more))
  api.child.kill('SIGTERM')
  await trickling.closed
  t.match(await api.ended, { code: 0, stderr: '' })
})

void t.test('the same signal again ends it at once', async (t) => {
  const { db, api, port } = await ground(t)
  await ask(port, '/healthz')
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.activity in access exclusive mode`.execute(trx)
    const asked = ask(port, `${HISTORY}/2`).catch(() => undefined)
    api.child.kill('SIGTERM')
    await api.said('stopping')
    // Within half a second it counts as the same request: npm and the terminal both pass it on.
    await sleep(700)
    t.equal(api.child.exitCode, null)
    api.child.kill('SIGTERM')
    t.match(await api.ended, { code: 130 })
    t.equal(await asked, undefined, 'without an answer')
  })
})
