import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { testApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { seedLoan, seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'

const URLS = ['/api/activity/history', '/api/loan/ERC20/1', '/api/status', '/readyz']
/** The API gives a statement 1.5 s; without a limit each of these would wait for minutes. */
const FAST_MS = 20_000

/** A way to the database that can be cut, and frozen: what arrives then goes nowhere and nobody hangs up. */
class Way {
  frozen = false
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  readonly #target: { host: string; port: number }
  constructor(target: { host: string; port: number }) {
    this.#target = target
  }

  async open(port = 0): Promise<number> {
    const server = createServer((client) => {
      const upstream = connect(this.#target)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(from)
        from.on('data', (bytes) => {
          if (!this.frozen) to.write(bytes)
        })
        from.on('error', () => undefined)
        from.on('close', () => {
          to.destroy()
          this.#sockets.delete(from)
        })
      }
    })
    this.#server = server
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve) ?? resolve(undefined))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

async function apiBehindWay(t: Test) {
  const own = await testDatabase(t)
  const target = new URL(own.url)
  const way = new Way({ host: target.hostname, port: Number(target.port) })
  const port = await way.open()
  target.port = `${port}`
  const { app } = await testApi(t, { url: target.href, asDocumented: false })
  t.teardown(() => way.cut())
  await seedRecords(own.db, 3)
  await seedLoan(own.db, { loanType: 'ERC20FIL', loanId: '1', id: 1, part: {} })
  await seedNetwork(own.db)
  const ask = async (url: string): Promise<{ code: number; body: string; ms: number }> => {
    const from = performance.now()
    const { statusCode: code, body } = await app.inject(url)
    return { code, body, ms: performance.now() - from }
  }
  return { way, port, ask, db: own.db }
}

void t.test('a database that refuses is 503 at once, and the API recovers by itself', async (t) => {
  const { way, port, ask } = await apiBehindWay(t)
  for (const url of URLS) t.equal((await ask(url)).code, 200, url)
  for (let round = 0; round < 2; round++) {
    await way.cut()
    for (const answer of await Promise.all([...URLS, ...URLS].map(ask))) {
      t.equal(answer.code, 503)
      t.match(answer.body, /^\{"status":"ERROR","message":"the database /)
      t.ok(answer.ms < FAST_MS, `${answer.ms} ms`)
    }
    t.equal((await ask('/healthz')).code, 200)
    await way.open(port)
    for (const url of URLS) t.equal((await ask(url)).code, 200, `${url} again`)
  }
})

void t.test('a database that freezes is 503 soon', async (t) => {
  const { way, ask } = await apiBehindWay(t)
  for (const url of URLS) t.equal((await ask(url)).code, 200, url)
  way.frozen = true
  for (const answer of await Promise.all([...URLS, ...URLS].map(ask))) {
    t.equal(answer.code, 503)
    t.ok(answer.ms < FAST_MS, `${answer.ms} ms`)
  }
  way.frozen = false
  for (const url of URLS) t.equal((await ask(url)).code, 200, `${url} again`)
})

void t.test('an API that was frozen itself does not take the database for away', async (t) => {
  const { ask } = await apiBehindWay(t)
  for (const url of URLS) await ask(url)
  for (const frozenMs of [1000, 2500]) {
    const asked = Promise.all(URLS.map(ask))
    await sleep(2)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, frozenMs)
    for (const { code, body } of await asked) t.equal(code, 200, body)
  }
})

void t.test('connections ended by the server, idle and at work', async (t) => {
  const { ask, db } = await apiBehindWay(t)
  for (let round = 0; round < 5; round++) {
    const asked = Promise.all([...URLS, ...URLS].map(ask))
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'loan-activity api'`.execute(db)
    for (const { code } of await asked) t.ok(code === 200 || code === 503, `${code}`)
    await sleep(50)
    t.equal((await ask('/api/activity/history')).code, 200)
  }
})

void t.test('a statement that waits too long for a lock is 503 as well', async (t) => {
  const { ask, db } = await apiBehindWay(t)
  await db.transaction().execute(async (trx) => {
    await sql`lock table projection.activity in access exclusive mode`.execute(trx)
    const answer = await ask('/api/activity/history')
    t.equal(answer.code, 503)
    t.ok(answer.ms < FAST_MS, `${answer.ms} ms`)
  })
  t.equal((await ask('/api/activity/history')).code, 200)
})
