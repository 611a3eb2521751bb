import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import t from 'tap'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { testApi } from '../../helpers/api.ts'
import { freePort } from '../../helpers/free-port.ts'
import { eventually } from '../../helpers/programs.ts'

const LIMIT = { API_RATE_LIMIT: { requests: 3, windowMs: 60_000 } }
const URL = '/api/activity'

function codes(answers: LightMyRequestResponse[]): number[] {
  return answers.map(({ statusCode }) => statusCode)
}

async function ask(
  app: FastifyInstance,
  times: number,
  from: { remoteAddress?: string; headers?: Record<string, string> } = {},
): Promise<LightMyRequestResponse[]> {
  const answers = []
  for (let time = 0; time < times; time += 1) answers.push(await app.inject({ url: URL, ...from }))
  return answers
}

/** Lines of a log, as objects. */
function collectedLog(): { log: pino.Logger; lines: { msg: string }[] } {
  const lines: { msg: string }[] = []
  const log = pino(
    { level: 'info' },
    { write: (line: string) => lines.push(JSON.parse(line) as { msg: string }) },
  )
  return { log, lines }
}

void t.test('a client has its limit, in headers and in our envelope', async (t) => {
  const { app } = await testApi(t, { settings: LIMIT })
  const [first, , , last] = await ask(app, 4)
  t.equal(first?.statusCode, 200)
  t.match(first?.headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': '2', 'ratelimit-reset': '60' })
  t.equal(last?.statusCode, 429)
  t.match(last?.headers, {
    'ratelimit-remaining': '0',
    'retry-after': /^\d+$/,
    'access-control-allow-origin': '*',
  })
  t.match(errorAnswer.parse(last?.json()).message, /too many requests: at most 3 in 60 s/)
  t.strictSame(
    codes([await app.inject('/api/nothing'), await app.inject('/api/status')]),
    [429, 429],
    'all routes count together, and those that are none',
  )
  t.equal((await app.inject('/api/status?unknown=1')).statusCode, 429, 'a mistake counts as well')
  t.equal((await app.inject('/healthz')).statusCode, 200)
  t.not((await app.inject('/readyz')).statusCode, 429)
  t.strictSame(codes(await ask(app, 1, { remoteAddress: '192.0.2.1' })), [200], 'another client has its own')
})

void t.test('the addresses of one IPv6 subscriber are one client', async (t) => {
  const { app } = await testApi(t, { settings: LIMIT })
  const addresses = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:DB8:1:2::3', '2001:db8:1:2:a:b:c:d']
  const answers = []
  for (const remoteAddress of addresses) answers.push(...(await ask(app, 1, { remoteAddress })))
  t.strictSame(codes(answers), [200, 200, 200, 429])
  t.strictSame(codes(await ask(app, 1, { remoteAddress: '2001:db8:1:3::1' })), [200])
  t.strictSame(codes(await ask(app, 3, { remoteAddress: '::ffff:192.0.2.9' })), [200, 200, 200])
  t.strictSame(codes(await ask(app, 1, { remoteAddress: '192.0.2.9' })), [429], 'IPv4, however it is written')
})

void t.test('X-Forwarded-For counts from a trusted proxy alone; else one warning', async (t) => {
  const { log, lines } = collectedLog()
  const { app } = await testApi(t, { settings: LIMIT, log })
  const forwarded = (address: string): { headers: Record<string, string> } => ({
    headers: { 'x-forwarded-for': address },
  })
  for (let number = 1; number <= 3; number += 1) await ask(app, 1, forwarded(`192.0.2.${number}`))
  t.strictSame(codes(await ask(app, 1, forwarded('192.0.2.4'))), [429], 'all are one client')
  t.equal(lines.filter(({ msg }) => msg.includes('API_TRUST_PROXY')).length, 1)

  const other = collectedLog()
  const trusting = await testApi(t, {
    settings: { ...LIMIT, API_TRUST_PROXY: ['127.0.0.0/8', '10.0.0.0/8'] },
    log: other.log,
  })
  t.strictSame(codes(await ask(trusting.app, 4, forwarded('192.0.2.1, 10.0.0.1'))), [200, 200, 200, 429])
  t.strictSame(
    codes(await ask(trusting.app, 1, forwarded('6.6.6.6, 192.0.2.1'))),
    [429],
    'what a client adds is not believed',
  )
  t.strictSame(codes(await ask(trusting.app, 1, forwarded('192.0.2.2'))), [200])
  const outsider = { remoteAddress: '203.0.113.1', ...forwarded('192.0.2.3') }
  await ask(trusting.app, 3, outsider)
  t.strictSame(codes(await ask(trusting.app, 1, { ...outsider, ...forwarded('192.0.2.4') })), [429])
  t.strictSame(codes(await ask(trusting.app, 1, forwarded('x'.repeat(5000)))), [200])
  t.equal(other.lines.filter(({ msg }) => msg.includes('API_TRUST_PROXY')).length, 0)
})

void t.test('two APIs count together in Redis, and go on by themselves without it', async (t) => {
  const port = await freePort()
  const startRedis = (): (() => Promise<unknown>) => {
    const child = spawn('redis-server', ['--port', `${port}`, '--save', '', '--bind', '127.0.0.1'], {
      stdio: 'ignore',
    })
    t.teardown(() => child.kill('SIGKILL'))
    return () => {
      child.kill('SIGKILL')
      return once(child, 'exit')
    }
  }
  if (spawn('redis-server', ['--version']).on('error', () => undefined).pid === undefined) {
    if (process.env['CI'] === 'true') t.fail('redis-server is not installed')
    return
  }
  const settings = { ...LIMIT, REDIS_URL: `redis://127.0.0.1:${port}` }
  const { log, lines } = collectedLog()
  const one = await testApi(t, { settings, log })
  t.strictSame(codes(await ask(one.app, 4)), [200, 200, 200, 429], 'it starts, and counts, without Redis')
  const away = (): number => lines.filter(({ msg }) => msg.includes('is away')).length
  t.equal(away(), 1, 'which is said once')

  const stopRedis = startRedis()
  const two = await testApi(t, { settings })
  let client = 0
  const isShared = async (): Promise<boolean> => {
    client += 1
    const from = { remoteAddress: `198.51.100.${client % 250}` }
    return (
      codes([...(await ask(one.app, 3, from)), ...(await ask(two.app, 1, from))]).join() === '200,200,200,429'
    )
  }
  await eventually('both count in Redis', isShared)
  await stopRedis()
  t.strictSame(
    codes(await ask(two.app, 4, { remoteAddress: '203.0.113.1' })),
    [200, 200, 200, 429],
    'by itself again',
  )
  await eventually('it is said again', () => away() === 2)
  startRedis()
  await eventually('both count in Redis again', isShared)
})

void t.test('a Redis that is frozen holds nothing up', async (t) => {
  const port = await freePort()
  const child = spawn('redis-server', ['--port', `${port}`, '--save', ''], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const settings = { ...LIMIT, REDIS_URL: `redis://127.0.0.1:${port}` }
  const { app } = await testApi(t, { settings })
  let client = 0
  await eventually('it counts in Redis', async () => {
    client += 1
    const [answer] = await ask(app, 1, { remoteAddress: `198.51.100.${client % 250}` })
    return answer?.statusCode === 200
  })
  child.kill('SIGSTOP')
  t.strictSame(codes(await ask(app, 4)), [200, 200, 200, 429])
})
