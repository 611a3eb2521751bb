import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { freePort } from '../helpers/free-port.ts'
import { runOps } from '../helpers/run-ops.ts'

t.setTimeout(600_000)

void t.test('other contracts make another index: the network stops, reindex adopts them', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  await createPlayer({ rpcUrl: anvil.url, deployment, seed: 21 }).playLoans(10)
  const networks = (idPrefix: string | null, both: boolean): object => ({
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: '31337',
        rpcUrls: [anvil.url],
        pollIntervalMs: 50,
        maxBlockRange: 3,
        erc20Loans: { address: deployment.erc20Loans, idPrefix },
        ...(both ? { erc20CollateralLock: { address: deployment.erc20CollateralLock } } : {}),
      },
    ],
  })
  const before = await indexerProcess(t, { databaseUrl, networks: networks(null, false) })
  before.start()
  await untilSynced(db, anvil.url, before)
  t.equal(await before.stop(), 0)
  const loans = async (): Promise<string[]> => {
    const rows = await db.selectFrom('projection.loans').select(['loan_type', 'loan_id']).execute()
    return rows.map((row) => `${row.loan_type} ${row.loan_id}`).sort()
  }
  const first = await loans()
  t.ok(first.every((loan) => /^ERC20FIL \d+$/.test(loan)))

  const after = await indexerProcess(t, { databaseUrl, networks: networks('x', true) })
  after.start()
  await after.untilSays('was indexed with')
  t.same(await loans(), first, 'nothing was mixed')

  await t.test('and says no more of it once another process follows it', async (t) => {
    const told = async (): Promise<string> => {
      const row = await db
        .selectFrom('ledger.network_status')
        .selectAll()
        .where('role', '=', 'reader')
        .executeTakeFirst()
      return row === undefined ? 'nothing' : `${row.state} ${row.observed_at.toISOString()}`
    }
    for (let waited = 0; waited < 60_000 && !(await told()).startsWith('stopped'); waited += 50)
      await delay(50)
    t.match(await told(), /^stopped /)
    before.start()
    for (let waited = 0; waited < 60_000 && !(await told()).startsWith('following'); waited += 50)
      await delay(50)
    const said = new Set<string>()
    for (let waited = 0; waited < 4_000; waited += 50) {
      said.add(await told())
      await delay(50)
    }
    t.ok(
      [...said].every((word) => word.startsWith('following ')),
      [...said].join(', '),
    )
    t.ok(said.size > 2, 'every second')
    t.equal(await before.stop(), 0)
  })
  t.equal(await after.stop(), 0)

  const reindex = (prefix: string | null, ...span: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl, networks: networks(prefix, true) }, 'reindex', '--network', 'evm:31337', ...span)
  for (const span of [
    ['--from', '1'],
    ['--to', '5'],
  ]) {
    t.match(await reindex('x', ...span), { code: 2, err: /only all of it can be read again/ }, span.join(' '))
  }
  t.same(await loans(), first, 'a part of it would be a mixture')
  // A run with yet other contracts was interrupted: what it read has been read again when it goes on.
  for (const name of ['reindex evm:31337 0 all {"other":1}', 'reindex evm:313370 0 all {"other":1}'])
    await db.insertInto('ledger.operations').values({ name, progress: '{"next":7}' }).execute()
  const ran = await reindex('x', '--from', '0')
  t.equal(ran.code, 0, ran.err)
  const kept = await db.selectFrom('ledger.operations').select('name').execute()
  t.same(kept, [{ name: 'reindex evm:313370 0 all {"other":1}' }])
  after.start()
  await untilSynced(db, anvil.url, after)
  const now = await loans()
  t.ok(now.some((loan) => loan.startsWith('FILERC20 ')))
  t.same(
    now.filter((loan) => loan.startsWith('ERC20FIL ')),
    first.map((loan) => loan.replace(' ', ' x-')).sort(),
    'the same loans under their new names',
  )
  const audit = await runOps(t, { databaseUrl, networks: networks('x', true) }, 'audit')
  t.equal(audit.code, 0, audit.out)
  t.equal(await after.stop(), 0)
})

void t.test('an indexer whose Redis is away says so, and still stops when told to', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 22 })
  await player.playLoans(3)
  const port = await freePort()
  const redis = spawn(
    'redis-server',
    ['--port', String(port), '--save', '', '--maxmemory-policy', 'noeviction'],
    {
      stdio: 'ignore',
    },
  )
  const started = await Promise.race([
    once(redis, 'spawn').then(() => true),
    once(redis, 'error').then(() => false),
  ])
  if (!started) {
    if (process.env['CI'] === 'true') t.fail('redis-server is not installed')
    return
  }
  t.teardown(() => redis.kill('SIGKILL'))
  const network = { blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 }
  const networks = { evm: [{ ...network, erc20Loans: { address: deployment.erc20Loans } }] }
  const indexer = await indexerProcess(t, { databaseUrl, redisUrl: `redis://127.0.0.1:${port}`, networks })
  indexer.start()
  await untilSynced(db, anvil.url, indexer)
  redis.kill('SIGKILL')
  await once(redis, 'exit')
  await player.playLoans(3)
  await indexer.untilSays('queue connection')
  t.equal(await indexer.stop(), 0, 'leaves by itself, with code 0')
})
