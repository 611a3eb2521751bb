import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newNetworkHealth } from '../../indexer/network-state.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { runVouchers } from '../../indexer/run-vouchers.ts'
import type { Db } from '../../shared/db/connect.ts'
import { createLogger } from '../../shared/log.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { testApi, type TestApi } from '../helpers/api.ts'
import { startComposedRedis } from '../helpers/composed-redis.ts'
import { creation, deadLetters, NETWORK, writeChain } from '../helpers/handed-in.ts'
import { EVM, ingestLedger } from '../helpers/ingest-ledger.ts'
import { freePort } from '../helpers/free-port.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import { keyOf, LENDER, signedText, signStatement, STATEMENT, textOf } from '../helpers/signed-vouchers.ts'
import { tcpSwitch, type TcpSwitch } from '../helpers/tcp-switch.ts'
import { actorAddress } from '../../devnet/filecoin/codec.ts'

t.setTimeout(300_000)

interface Ground extends TestApi {
  url: string
  redisUrl: string | undefined
  /** Posts JSON, or a text as it is. */
  post: (path: string, body: unknown) => Promise<{ status: number; answer: unknown; headers: Headers }>
  intake: string
  /** Its metrics, as text. */
  metrics: () => Promise<string>
  program: ApiProcess
}

/**
 * An intake in a process of its own, beside a database with a channel that is final and a loan of its parties. `reach` gives
 * other URLs of the same servers.
 */
async function ground(
  t: Test,
  kind: QueueKind,
  reach: { database?: (url: string) => Promise<string>; redis?: (url: string) => Promise<string> } = {},
): Promise<Ground | undefined> {
  const api = await testApi(t)
  const testUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (testUrl === null) return undefined
  const redisUrl = testUrl === undefined ? undefined : await (reach.redis?.(testUrl) ?? testUrl)
  const chain = await writeChain(api.db)
  await chain.append(creation())
  await chain.finalize()
  await offerLoan(api.db)
  const networks = join(t.testdir({}), 'networks.json')
  await writeFile(
    networks,
    JSON.stringify({ filecoin: [{ networkId: 'testnet', rpcUrls: ['http://127.0.0.1:1/rpc/v1'] }] }),
  )
  const databaseUrl = await (reach.database?.(api.url) ?? api.url)
  const metricsPort = await freePort()
  const env = {
    ...{ DATABASE_URL: databaseUrl, NETWORKS_FILE: networks },
    ...{ INTAKE_PORT: '0', INTAKE_METRICS_PORT: `${metricsPort}` },
  }
  const program = startApi(
    t,
    { ...env, ...(redisUrl !== undefined && { REDIS_URL: redisUrl }) },
    {
      program: 'indexer/intake/main',
    },
  )
  const intake = await program.listening
  t.teardown(async () => {
    program.child.kill('SIGTERM')
    await program.ended
  })
  const post: Ground['post'] = async (path, body) => {
    const response = await fetch(`${intake}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, answer: await response.json(), headers: response.headers }
  }
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return { ...api, redisUrl, post, intake, metrics, program }
}

/** The loan that the statement of the helpers names. */
async function offerLoan(db: Db): Promise<void> {
  await ingestLedger(db, EVM, [
    {
      ...{ blockNumber: 1, blockHash: '0x01', blockTimeS: 1_600_020_000, txHash: `0x${'1'.repeat(64)}` },
      ...{ logIndex: 0, txLogIndex: 0, role: 'erc20Loans', tokenDecimals: 18 },
      contract: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9',
      ...{ contractLoanId: '42', loanId: '42', kind: 'CreateLoanOffer' },
      args: {
        lender: '0x00000000000000000000000000000000000000b1',
        principal: '1',
        token: '0x00000000000000000000000000000000000000AA',
      },
      terms: {
        values: {
          secretHashB1: `0x${'cd'.repeat(32)}`,
          filLender: `0x${Buffer.from(textOf(LENDER)).toString('hex')}`,
          ...{ interest: '1', loanExpirationPeriod: '60' },
        },
      },
    },
  ])
}

/** The vouchers' half of an indexer that leads the network. */
function takeVouchers(t: Test, { db, url: databaseUrl, redisUrl }: Ground): void {
  const log = createLogger('test', 'silent')
  const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
  const { handedIn: counts } = newNetworkHealth({ network: NETWORK, blockchain: 'FIL', networkId: 'testnet' })
  if (counts === null) throw new Error('a Filecoin network counts what is handed in')
  const stopping = new AbortController()
  const run = { network: NETWORK, networks: [NETWORK], counts, db, backend, log, signal: stopping.signal }
  const running = runVouchers(run)
  t.teardown(async () => {
    stopping.abort()
    await running
    backend.close()
  })
}

const SECRET_HASH = new Uint8Array(32).fill(0xab)

for (const kind of queueKinds) {
  void t.test(`on ${kind}: what a browser hands in comes to be in the API's answers`, async (t) => {
    const given = await ground(t, kind)
    if (given === undefined) return
    takeVouchers(t, given)
    const { app, post } = given
    const records = async (event: string): Promise<number> => {
      const answer = await app.inject(`/api/activity?event=${event}`)
      return answer.json<{ payload: unknown[] }>().payload.length
    }
    t.match(await post('/statements', { network: 'testnet', statement: signStatement(STATEMENT) }), {
      status: 202,
      answer: { status: 'OK', payload: { outcome: 'queued' } },
    })
    await eventually('the statement ties the channel to its loan', async () => {
      return (await records('LendERC20/LockCollateral')) === 1
    })
    for (const nonce of [1n, 2n, 3n]) {
      const voucher = signedText({ secretHash: SECRET_HASH, nonce })
      const postedMs = performance.now()
      t.equal((await post('/vouchers', { voucher })).status, 202)
      await eventually(`voucher ${nonce} is seen`, async () => {
        return (await records('LendERC20/SignCollateralVoucher')) === Number(nonce)
      })
      t.comment(`voucher ${nonce} is seen after ${Math.round(performance.now() - postedMs)} ms`)
      t.match(await post('/vouchers', { voucher }), {
        status: 200,
        answer: { payload: { outcome: 'known' } },
      })
    }
    const text = await given.metrics()
    t.match(text, 'loan_activity_intake_requests_total{kind="voucher",outcome="queued"} 3\n')
    t.match(text, 'loan_activity_intake_requests_total{kind="voucher",outcome="known"} 3\n')
    t.match(text, 'loan_activity_intake_requests_total{kind="statement",outcome="queued"} 1\n')
    t.match(text, 'loan_activity_intake_request_duration_seconds_count{kind="voucher"} 6\n')
    t.match(text, 'loan_activity_intake_queue_up 1\n')
    t.match(text, /^loan_activity_build_info\{program="intake"/m)
  })
}

void t.test('what is refused is not queued, and told why', async (t) => {
  const given = await ground(t, 'postgres')
  if (given === undefined) return
  const { post, db, intake } = given
  const elsewhere = actorAddress(new TextEncoder().encode('another channel'))
  const refused: [string, string, unknown, number, RegExp][] = [
    ['no JSON', '/vouchers', '{', 400, /JSON/],
    ['no object', '/vouchers', [], 400, /no JSON object/],
    ['neither', '/vouchers', {}, 400, /must have one of/],
    ['a voucher among statements', '/statements', { voucher: signedText() }, 400, /must have a `statement`/],
    ['garbage', '/vouchers', { voucher: 'garbage' }, 422, /./],
    [
      'another network',
      '/vouchers',
      { network: 'mainnet', voucher: signedText() },
      400,
      /no Filecoin network/,
    ],
    ['a stranger’s', '/vouchers', { voucher: signedText({}, keyOf('stranger')) }, 422, /neither party/],
    [
      'of no known channel',
      '/vouchers',
      { voucher: signedText({ channelAddr: elsewhere }) },
      409,
      /again later/,
    ],
    [
      'another’s statement',
      '/statements',
      { statement: signStatement(STATEMENT, keyOf('stranger')) },
      422,
      /./,
    ],
    ['too large', '/vouchers', { voucher: 'A'.repeat(200_000) }, 413, /too large/],
    ['no route', '/', { voucher: signedText() }, 404, /POST to/],
  ]
  for (const [what, path, body, status, message] of refused) {
    t.match(await post(path, body), { status, answer: { status: 'ERROR', message } }, what)
  }
  t.equal((await fetch(`${intake}/vouchers`)).status, 404)
  const form = await fetch(`${intake}/vouchers`, { method: 'POST', body: new URLSearchParams({ a: 'b' }) })
  t.equal(form.status, 415)
  const preflight = await fetch(`${intake}/vouchers`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://dapp.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  })
  t.match(preflight.headers.get('access-control-allow-origin'), '*')
  for (const path of ['/healthz', '/readyz']) t.equal((await fetch(`${intake}${path}`)).status, 200)
  const queue = openVoucherQueue(
    openQueueBackend({ redisUrl: undefined, databaseUrl: given.url }, () => undefined),
  )
  t.teardown(() => queue.close())
  t.same(await queue.getJobCounts('waiting', 'delayed'), { waiting: 0, delayed: 0 })
  t.same(await deadLetters(db), [])
  // Health checks do not count.
  let last = await post('/vouchers', {})
  for (let asked = 0; last.status !== 429 && asked < 100; asked += 1) last = await post('/vouchers', {})
  t.match(last, { status: 429, answer: { status: 'ERROR', message: /^too many requests/ } })
  t.match(last.headers.get('retry-after'), /^\d+$/)
  t.equal((await fetch(`${intake}/healthz`)).status, 200)
  const text = await given.metrics()
  t.match(text, 'loan_activity_intake_requests_total{kind="statement",outcome="refused"} 1\n')
  t.match(text, 'loan_activity_intake_requests_total{kind="voucher",outcome="unverified"} 1\n')
  t.match(text, /requests_total\{kind="voucher",outcome="malformed"\} [1-9]/)
  t.match(text, 'loan_activity_intake_requests_total{kind="voucher",outcome="rate_limited"} 1\n')
  given.program.child.kill('SIGTERM')
  t.equal((await given.program.ended).code, 0)
})

for (const away of ['database', 'redis'] as const) {
  void t.test(`while the ${away} is away it answers 503, and takes vouchers once it is back`, async (t) => {
    if (!queueKinds.includes('redis')) return
    const ways: { way: TcpSwitch; port: number }[] = []
    const given = await ground(t, 'redis', {
      [away]: async (url: string) => {
        const server = new URL(url)
        const way = await tcpSwitch(t, Number(server.port))
        ways.push({ way, port: Number(server.port) })
        server.port = String(way.port)
        return server.href
      },
    })
    const [cut] = ways
    if (given === undefined || cut === undefined) return
    const { post, intake } = given
    t.equal((await fetch(`${intake}/readyz`)).status, 200)
    cut.way.leadTo(await freePort())
    cut.way.reset()
    const voucher = signedText({ secretHash: SECRET_HASH, nonce: 1n })
    const refused = await post('/vouchers', { voucher })
    t.match(refused, {
      status: 503,
      answer: { status: 'ERROR', message: 'the database or the queue is away: try again' },
    })
    t.equal(refused.headers.get('retry-after'), '1')
    t.match(await post('/statements', { statement: signStatement(STATEMENT) }), { status: 503 })
    t.equal((await fetch(`${intake}/readyz`)).status, 503)
    t.equal((await fetch(`${intake}/healthz`)).status, 200, 'it lives')
    const text = await given.metrics()
    t.match(text, 'loan_activity_intake_requests_total{kind="voucher",outcome="away"} 1\n')
    t.match(text, `loan_activity_intake_queue_up ${away === 'redis' ? 0 : 1}\n`)
    t.match(await post('/vouchers', {}), { status: 400 }, 'what needs neither is answered')
    cut.way.leadTo(cut.port)
    await eventually('it takes them again', async () => (await post('/vouchers', { voucher })).status === 202)
    t.equal((await fetch(`${intake}/readyz`)).status, 200)
  })
}

void t.test('on Redis it needs no more than the user of a producer may', async (t) => {
  if (!queueKinds.includes('redis')) return
  const given = await ground(t, 'redis', {
    redis: async () => `redis://producer:producer1@127.0.0.1:${await startComposedRedis(t)}`,
  })
  if (given === undefined) return
  const { post, intake, redisUrl = '' } = given
  t.equal((await fetch(`${intake}/readyz`)).status, 200)
  const voucher = signedText({ secretHash: SECRET_HASH, nonce: 1n })
  t.match(await post('/vouchers', { voucher }), { status: 202 })
  const backend = openQueueBackend(
    { redisUrl: redisUrl.replace('producer:producer1', 'indexer:indexer1'), databaseUrl: given.url },
    () => undefined,
  )
  const queue = openVoucherQueue(backend)
  t.same(await queue.getJobCounts('waiting'), { waiting: 1 })
  await queue.close()
  backend.close()
})

void t.test('it does not start without its port', async (t) => {
  const { url } = await testApi(t)
  const program = startApi(t, { DATABASE_URL: url }, { program: 'indexer/intake/main' })
  t.match(await program.ended, { code: 2, stderr: /INTAKE_PORT is not set/ })
})
