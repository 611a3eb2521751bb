import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { testDatabase } from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { memoryOf } from '../../helpers/process-memory.ts'
import { eventually } from '../../helpers/programs.ts'
import { KeepAliveClient } from '../../helpers/raw-http.ts'
import { scriptFlags } from '../../helpers/script-flags.ts'
import { seedRecords } from '../../helpers/seed-projection.ts'
import { serviceProgram } from '../../helpers/service-program.ts'

const MAIN = serviceProgram('api/main')
const PIPELINERS = fileURLToPath(new URL('../../helpers/pipeliners-main.ts', import.meta.url))
const ATTACKED_MS = 4000
/** The machine of a test may be busy, and shed some requests; `bench load` measures the other client's time. */
const MOST_SHED = 0.25
const MOST_MIB = 200

interface RunningApi {
  port: number
  pid: number
  isAlive: () => boolean
}

/** As production runs it. */
async function startApi(t: Test, records: number): Promise<RunningApi> {
  const { url, db } = await testDatabase(t)
  await seedRecords(db, records)
  const port = await freePort()
  const child = spawn(process.execPath, [...MAIN.flags, ...scriptFlags('api'), MAIN.path], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: url, API_PORT: `${port}`, API_RATE_LIMIT: 'off' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await eventually('it answers', async () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { port, pid: child.pid ?? 0, isAlive: () => child.exitCode === null && child.signalCode === null }
}

void t.test('sockets that pipeline end nothing, and hold up no other client', async (t) => {
  const api = await startApi(t, 5000)
  for (const options of [
    { sockets: 200, path: '/api/activity/history/1', reads: true, forever: false },
    { sockets: 200, path: '/api/activity/history/1', reads: false, forever: true },
    { sockets: 1, path: '/api/activity?limit=200', reads: true, forever: true },
  ]) {
    const pipeliners = fork(PIPELINERS, [`${api.port}`, JSON.stringify(options)], {
      execArgv: ['--import=tsx', '--no-warnings'],
    })
    await once(pipeliners, 'message')
    const client = new KeepAliveClient(api.port)
    let [answered, shed] = [0, 0]
    const untilMs = performance.now() + ATTACKED_MS
    while (performance.now() < untilMs) {
      const { status } = await client.get('/api/activity/history/2')
      if (status === 503) shed += 1
      else if (status !== 200) t.fail(`answered ${status}`)
      answered += 1
      await delay(5)
    }
    pipeliners.kill('SIGKILL')
    client.close()
    t.ok(answered > 5, `${JSON.stringify(options)}: ${answered} requests of the other client were answered`)
    t.ok(shed <= answered * MOST_SHED, `${shed} of ${answered} requests were shed`)
    t.ok(api.isAlive())
    const { peakMiB } = memoryOf(api.pid)
    t.ok(peakMiB < MOST_MIB, `${JSON.stringify(options)}: ${peakMiB} MiB`)
  }
})

void t.test('pipelined requests are all answered, in their order, however they are cut', async (t) => {
  const api = await startApi(t, 1000)
  const paths = Array.from({ length: 60 }, (_, number) =>
    number % 3 === 2 ? '/nothing' : `/api/activity/history/${1 + (number % 40)}`,
  )
  const last = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('') + last
  for (const size of [1, 7, 100, requests.length]) {
    const socket = connect({ port: api.port, host: '127.0.0.1', noDelay: true })
    const answer = text(socket)
    for (let from = 0; from < requests.length; from += size) socket.write(requests.slice(from, from + size))
    const statuses = (await answer).match(/(?<=HTTP\/1\.1 )\d+/g)
    t.strictSame(statuses, [...paths.map((path) => (path === '/nothing' ? '404' : '200')), '200'], `${size}`)
  }
})

void t.test('a body passes, and what follows it is the next request', async (t) => {
  const api = await startApi(t, 1)
  const socket = connect({ port: api.port, host: '127.0.0.1' })
  const answer = text(socket)
  const body = '\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n'.repeat(5000)
  socket.write(`POST /api/activity HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.strictSame((await answer).match(/(?<=HTTP\/1\.1 )\d+/g), ['405', '200'])
})
