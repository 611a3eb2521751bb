import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { cases } from '../../helpers/cases.ts'
import { testDatabase } from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { eventually } from '../../helpers/programs.ts'
import { KeepAliveClient } from '../../helpers/raw-http.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'
import { serviceProgram } from '../../helpers/service-program.ts'

const MAIN = serviceProgram('api/main')
const RESTARTS = cases(20)
const CLIENTS = 20
const CONFIG = fileURLToPath(new URL('../../../deploy/haproxy.cfg', import.meta.url))

async function startApi(t: Test, url: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [...MAIN.flags, MAIN.path], {
    stdio: 'ignore',
    env: {
      ...{ PATH: process.env['PATH'] ?? '', DATABASE_URL: url, API_PORT: `${port}` },
      API_RATE_LIMIT: 'off',
      API_TRUST_PROXY: '127.0.0.1',
    },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await eventually('it is ready', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    return answer?.status === 200
  })
  return child
}

/** The configuration of compose, on ports of this test: two servers instead of those that the resolver finds. */
async function startProxy(t: Test, ports: [number, number]): Promise<number> {
  const port = await freePort()
  const text = (await readFile(CONFIG, 'utf8'))
    .replace('bind :3000', `bind 127.0.0.1:${port}`)
    .replaceAll(
      /server-template api .*/g,
      `server one 127.0.0.1:${ports[0]}\n  server two 127.0.0.1:${ports[1]}`,
    )
  const file = join(t.testdir(), 'haproxy.cfg')
  await writeFile(file, text)
  const proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  t.teardown(() => proxy.kill('SIGKILL'))
  await eventually('the proxy answers', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/activity/history`).catch(() => undefined)
    return answer?.status === 200
  })
  return port
}

void t.test(
  'two APIs behind haproxy restart in turn, and no request fails',
  { timeout: 300_000 },
  async (t) => {
    if (spawnSync('haproxy', ['-v']).status !== 0) {
      if (process.env['CI'] === 'true') t.fail('haproxy is not installed: `apt-get install haproxy`')
      else t.comment('skipped: haproxy is not installed: `apt-get install haproxy`')
      return
    }
    const { url, db } = await testDatabase(t)
    await seedNetwork(db)
    const fresh = setInterval(() => void seedNetwork(db), 3000)
    t.teardown(() => clearInterval(fresh))
    const ports: [number, number] = [await freePort(), await freePort()]
    const apis = await Promise.all(ports.map((port) => startApi(t, url, port)))
    const port = await startProxy(t, ports)

    let isOver = false
    let answered = 0
    const failed: string[] = []
    const clients = Array.from({ length: CLIENTS }, async () => {
      const client = new KeepAliveClient(port)
      while (!isOver) {
        try {
          const { status } = await client.get('/api/activity/history')
          answered += 1
          if (status !== 200) failed.push(`${status}`)
        } catch (error) {
          failed.push(String(error))
        }
        await delay(10)
      }
      client.close()
    })
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const which = restart % 2
      const api = apis[which]
      if (api === undefined) throw new Error('there are two')
      const ended = once(api, 'exit') as Promise<[number | null]>
      api.kill('SIGTERM')
      t.strictSame((await ended)[0], 0)
      apis[which] = await startApi(t, url, ports[which] ?? NaN)
      // The proxy has to see that it is back before the other leaves.
      await delay(1000)
    }
    isOver = true
    await Promise.all(clients)
    clearInterval(fresh)
    t.ok(answered > RESTARTS * CLIENTS, `${answered} requests`)
    t.strictSame(failed, [])
  },
)
