import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { boundedLines } from '../../indexer/cli/bounded-lines.ts'
import { newNetworkHealth } from '../../indexer/network-state.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { runVouchers } from '../../indexer/run-vouchers.ts'
import { hasQueueInPostgres, putDeadLetter } from '../../indexer/ingest/dead-letters.store.ts'
import { createLogger } from '../../shared/log.ts'
import { testDatabase } from '../helpers/database.ts'
import { creation, deadLetters, handedInEvents, NETWORK, writeChain } from '../helpers/handed-in.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'
import { serviceProgram } from '../helpers/service-program.ts'
import { keyOf, signedText, signStatement, STATEMENT } from '../helpers/signed-vouchers.ts'

t.setTimeout(900_000)

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RPC = ['http://127.0.0.1:1/rpc/v1']
const ONE = { filecoin: [{ networkId: 'testnet', rpcUrls: RPC }] }
const TWO = { filecoin: [...ONE.filecoin, { networkId: 'mainnet', rpcUrls: RPC }] }

void t.test('vouchers import', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append(creation())
  await chain.finalize()
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-import-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'vouchers.txt')
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks: ONE }, ...args)

  await t.test('a file of every kind of line', async (t) => {
    await writeFile(
      file,
      [
        '# vouchers of November',
        '',
        signedText(),
        signedText().replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
        JSON.stringify(signStatement(STATEMENT)),
        JSON.stringify({ network: 'testnet', voucher: signedText({ nonce: 2n }) }),
        `${JSON.stringify(signedText({ nonce: 3n }))}\r`,
        signedText({ amount: 501n }),
      ].join('\n'),
    )
    const ran = await ops('vouchers', 'import', file)
    t.match(ran, { code: 0, out: '8 lines: 4 accepted, 1 known, 1 waiting, 0 refused\n' }, ran.err)
    t.match(await handedInEvents(db), [{ way: 'import' }, {}, {}, {}])
    const again = await ops('vouchers', 'import', file, '--json')
    t.match(JSON.parse(again.out), { accepted: 0, known: 5, waiting: 1, refused: 0, finished: true })
  })

  await t.test('what is refused is told with its line', async (t) => {
    const lines = [
      signedText({ nonce: 4n }),
      'x'.repeat(70_000),
      '{"voucher":',
      signedText({}, keyOf('stranger')),
      '{"network":"mainnet","voucher":"AAAA"}',
    ]
    await writeFile(file, Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.of(0xff, 0xfe, 0x0a)]))
    const ran = await ops('vouchers', 'import', file)
    t.equal(ran.code, 1)
    t.match(ran.out.split('\n'), [
      /^line 2: it is longer than 65536 bytes$/,
      /^line 3: it begins as JSON and is none$/,
      /^line 4: .*neither party/,
      /^line 5: no Filecoin network "mainnet"/,
      /^line 6: it is not UTF-8$/,
      /^6 lines: 1 accepted, 0 known, 0 waiting, 5 refused$/,
    ])
  })

  await t.test('standard input, and wrong use', async (t) => {
    const program = serviceProgram('indexer/cli/main')
    const child = spawn(
      process.execPath,
      [...program.flags, program.path, 'vouchers', 'import', '-', '--json'],
      { cwd: ROOT, env: await environment(t, databaseUrl, ONE), stdio: ['pipe', 'pipe', 'inherit'] },
    )
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stdin.end(signedText({ nonce: 5n }))
    t.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
    t.match(JSON.parse(out), { lines: 1, accepted: 1 })
    t.match(await ops('vouchers', 'import', join(folder, 'none')), { code: 2, err: /cannot be read/ })
    t.match(await ops('vouchers', 'import', file, '--network', 'other'), {
      code: 2,
      err: /no Filecoin network/,
    })
    const two = await runOps(t, { databaseUrl, networks: TWO }, 'vouchers', 'import', file)
    t.match(two.out, /line 1: it names no network, and there are several: testnet, mainnet/)
  })
})

void t.test('lines are read one at a time, however long the file and they are', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-lines-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'long')
  const handle = await open(path, 'w')
  const megabyte = Buffer.alloc(1 << 20, 'x')
  for (let i = 0; i < 256; i += 1) await handle.write(megabyte)
  await handle.write(Buffer.from('\nlast'))
  await handle.close()
  const before = process.memoryUsage().rss
  const lines = []
  let most = 0
  for await (const line of boundedLines(createReadStream(path) as AsyncIterable<Uint8Array>, 1000))
    lines.push(line)
  most = Math.max(most, process.memoryUsage().rss - before)
  t.same(lines, [
    { number: 1, text: null, reason: 'it is longer than 1000 bytes' },
    { number: 2, text: 'last', reason: null },
  ])
  t.ok(most < 100 << 20, `${most >> 20} MB for a line of 256 MB`)
})

void t.test('dead-letters', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks: ONE }, ...args)
  const chain = await writeChain(db)
  const letter = { queue: 'vouchers', jobId: '7', network: 'testnet', reason: 'too early' }
  await putDeadLetter(db, { ...letter, payload: { network: 'testnet', voucher: signedText() } })
  await putDeadLetter(db, { ...letter, payload: { voucher: signedText({}, keyOf('stranger')) } })
  await putDeadLetter(db, { ...letter, payload: { voucher: 'A'.repeat(100_000) } })
  await putDeadLetter(db, { ...letter, queue: 'steps-evm-1', payload: { step: {} } })
  const fromNode = { ...letter, queue: 'node-store', jobId: null }
  const stranger = signedText({ nonce: 2n }, keyOf('stranger'))
  await putDeadLetter(db, { ...fromNode, payload: { network: 'testnet', voucher: stranger } })
  const unreadable = { network: 'testnet', unreadable: 'null', reason: 'no voucher' }
  await putDeadLetter(db, { ...fromNode, payload: unreadable })
  await chain.append(creation())
  await chain.finalize()

  t.match(await ops('dead-letters', 'list'), {
    code: 0,
    out: /^\d+ {2}\S+Z {2}vouchers {2}testnet {2}1 try\n {4}too early\n[^]*\n2 in node-store, 1 in steps-evm-1, 3 in vouchers\n$/m,
  })
  const listed = JSON.parse((await ops('dead-letters', 'list', '--json', '--limit', '2')).out) as {
    deadLetters: { id: number }[]
  }
  t.equal(listed.deadLetters.length, 2)
  t.match(await ops('dead-letters', 'show', '1'), {
    code: 0,
    out: /reason: too early[^]*"network": "testnet"/,
  })
  t.match(await ops('dead-letters', 'show', '3'), { code: 0, out: /of which this is the beginning/ })
  t.match(await ops('dead-letters', 'show', '99'), { code: 1, err: /no dead letter 99/ })

  await t.test('a queue in Postgres that no indexer ever made is none to hand in to', async (t) => {
    const refused = await ops('dead-letters', 'retry', 'all')
    t.match(refused, { code: 2, out: '', err: /REDIS_URL is not set/ })
    t.notOk(await hasQueueInPostgres(db), 'and none is made')
  })

  await t.test('retry hands in again, and what is accepted is gone', async (t) => {
    const backend = openQueueBackend({ redisUrl: undefined, databaseUrl }, (error) =>
      t.comment(error.message),
    )
    const { handedIn: counts } = newNetworkHealth({
      network: NETWORK,
      blockchain: 'FIL',
      networkId: 'testnet',
    })
    if (counts === null) throw new Error('a Filecoin network counts what is handed in')
    const stopping = new AbortController()
    const log = createLogger('test', 'silent')
    const { signal } = stopping
    const run = {
      network: NETWORK,
      networks: [NETWORK],
      counts,
      db,
      backend,
      log,
      signal,
    }
    const running = runVouchers(run)
    await eventually('the queue is there', () => hasQueueInPostgres(db))
    const ran = await ops('dead-letters', 'retry', 'all', '--json')
    t.equal(ran.code, 0, ran.err)
    t.match(JSON.parse(ran.out), {
      retried: 3,
      left: [
        { id: 3, reason: /beginning/ },
        { id: 4, reason: /by itself/ },
        { id: 6, reason: /one of `voucher` and `statement`/ },
      ],
    })
    await eventually('all three are judged', () => counts.accepted + counts.refused === 3)
    stopping.abort()
    await running
    backend.close()
    const letters = await deadLetters(db)
    t.match(letters, [
      { reason: /neither party/, attempts: 2 },
      { is_cut: true, attempts: 1 },
      { queue: 'steps-evm-1' },
      { queue: 'node-store', reason: /neither party/, attempts: 2 },
      { queue: 'node-store', payload: unreadable, attempts: 1 },
    ])
    t.equal(letters.length, 5)
    t.equal((await handedInEvents(db)).length, 1)
    t.match(await ops('dead-letters', 'retry', '4', '99'), {
      code: 1,
      out: /4: .*by itself[^]*99: there is none/,
    })
  })

  t.match(await ops('dead-letters', 'drop', '2', '3'), { code: 0, out: '2 dropped\n' })
  t.match(await ops('dead-letters', 'drop', '2'), {
    code: 1,
    out: '2: there is none of this id\n0 dropped\n',
  })
  t.match(await ops('dead-letters', 'drop', 'all', '3'), { code: 2 })
  t.match(await ops('dead-letters', 'drop', 'all'), { code: 0, out: '3 dropped\n' })
  t.match(await ops('dead-letters', 'list'), { code: 0, out: 'no dead letters\n' })
})

async function environment(
  t: Parameters<typeof testDatabase>[0],
  databaseUrl: string,
  networks: object,
): Promise<Record<string, string | undefined>> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-ops-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(networks))
  return { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, NETWORKS_FILE: networksFile }
}
