import { setTimeout as sleep } from 'node:timers/promises'
import { JsonRpcProvider } from 'ethers'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import type { Db } from '../../shared/db/connect.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { startRedis, type RedisServer } from '../simulation/redis-server.ts'

t.setTimeout(300_000)

interface Ground {
  db: Db
  redis: RedisServer
  rpcUrl: string
  leader: IndexerProcess
  standby: IndexerProcess
}

/** Two indexers on a Redis of their own, and a chain with a block every second. */
async function ground(t: Test): Promise<Ground> {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true })
  await provider.send('evm_setIntervalMining', [1])
  provider.destroy()
  const networks = {
    evm: [
      {
        ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 200 },
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const setup = { databaseUrl, redisUrl: redis.url, networks }
  const [leader, standby] = [await indexerProcess(t, setup), await indexerProcess(t, setup)]
  leader.start()
  await untilMoved(db, -1)
  standby.start()
  await standby.untilSays('standing by')
  return { db, redis, rpcUrl: anvil.url, leader, standby }
}

interface Place {
  indexed: number
  epoch: number
  /** Random for each time that the lead is taken. */
  lease: string
}

async function place(db: Db): Promise<Place> {
  const row = await db.selectFrom('ledger.chain_position').selectAll().executeTakeFirst()
  const lease = await db
    .selectFrom('ledger.writer_leases')
    .select('token')
    .where('name', 'like', 'writer of %')
    .executeTakeFirst()
  return { indexed: row?.number ?? -1, epoch: row?.writer_epoch ?? 0, lease: lease?.token ?? '' }
}

/** Waits until a block above `than` is written; milliseconds. */
async function untilMoved(db: Db, than: number, withinMs = 60_000): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < withinMs) {
    if ((await place(db)).indexed > than) return performance.now() - since
    await sleep(50)
  }
  return Infinity
}

/** Waits until Redis answers a new client. */
async function untilPong(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  await client.ping()
  client.disconnect()
}

interface Told {
  status: number
  body: string
}

async function readiness(indexer: IndexerProcess): Promise<Told> {
  const response = await fetch(`${indexer.url}/readyz`)
  return { status: response.status, body: await response.text() }
}

async function statusRow(db: Db): Promise<{ state: string; problem: string | null; kind: string | null }> {
  return db
    .selectFrom('ledger.network_status')
    .select(['state', 'problem', 'problem_kind as kind'])
    .where('role', '=', 'writer')
    .executeTakeFirstOrThrow()
}

type Change = (redis: RedisServer) => unknown

const ways: [what: string, away: Change, back: Change][] = [
  ['frozen', (redis) => redis.freeze(), (redis) => redis.thaw()],
  ['killed, and back with nothing', (redis) => redis.kill(), (redis) => redis.start()],
]

/** Longer than every time limit of the connections (10 s at most). */
const AWAY_MS = Number(process.env['QUEUE_AWAY_MS'] ?? 13_000)

void t.test('a Redis that is away is named, and writes go on soon after its return', async (t) => {
  const { db, redis, rpcUrl, leader, standby } = await ground(t)
  for (const [what, away, back] of ways) {
    await t.test(what, async (t): Promise<void> => {
      const before = await place(db)
      const said = leader.output.length
      const since = performance.now()
      await away(redis)
      const isNamed = async (): Promise<boolean> =>
        (await statusRow(db)).kind === 'queue' &&
        (await readiness(leader)).status === 503 &&
        (await readiness(standby)).status === 503
      while (!(await isNamed()) && performance.now() - since < AWAY_MS) await sleep(50)
      const namedMs = performance.now() - since
      t.ok(namedMs < AWAY_MS, `named after ${Math.round(namedMs)} ms`)
      let looks = 0
      while (performance.now() - since < AWAY_MS) {
        const row = await statusRow(db)
        const [leading, beside] = await Promise.all([readiness(leader), readiness(standby)])
        if (
          !(
            row.state === 'retrying' &&
            row.kind === 'queue' &&
            /Redis at 127\.0\.0\.1:\d+: /.test(row.problem ?? '')
          ) ||
          leading.status !== 503 ||
          beside.status !== 503
        )
          throw new Error(`${JSON.stringify(row)} ${leading.status} ${leading.body} ${beside.status}`)
        looks += 1
        await sleep(100)
      }
      t.ok(looks > 0, `${looks} looks`)
      const held = await place(db)
      await back(redis)
      await untilPong(redis.url)
      const ms = await untilMoved(db, held.indexed)
      // BullMQ's own pause after a refusal is 15 s.
      t.ok(ms < 14_000, `written ${Math.round(ms)} ms after PONG`)
      await untilSynced(db, rpcUrl, leader)
      const after = await place(db)
      t.equal(after.lease, before.lease, 'nobody takes the lead')
      // A session is begun anew at most once: where Redis came back empty, or gave a job to a connection that is gone.
      t.ok(after.epoch <= before.epoch + 1, `writer epochs ${before.epoch} and ${after.epoch}`)
      const lines = leader.output.slice(said).split('\n').length - 1
      t.ok(lines < 20, `${lines} lines`)
      const recovered = performance.now()
      const isWell = async (): Promise<boolean> =>
        (await readiness(leader)).status === 200 && (await readiness(standby)).status === 200
      while (!(await isWell()) && performance.now() - recovered < 60_000) await sleep(50)
      t.equal((await readiness(leader)).status, 200)
      // The row follows the process's own state with the next write.
      while ((await statusRow(db)).state !== 'following' && performance.now() - recovered < 60_000)
        await sleep(50)
      t.match(await statusRow(db), { state: 'following', problem: null, kind: null })
      t.match(JSON.parse((await readiness(standby)).body), {
        payload: [{ state: 'standby', writer: { state: 'standby', leader: /process \d+/ } }],
      })
      t.comment(
        `${what} for ${AWAY_MS} ms: named after ${Math.round(namedMs)} ms, written ${Math.round(ms)} ms after PONG, ${lines} lines, epochs +${after.epoch - before.epoch}`,
      )
    })
  }
  t.equal(await leader.stop(), 0)
  t.equal(await standby.stop(), 0)
})
