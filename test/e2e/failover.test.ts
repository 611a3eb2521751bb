import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import type { Db } from '../../shared/db/connect.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { postgresPair, type PostgresPair } from '../helpers/postgres-pair.ts'
import { eventually } from '../helpers/programs.ts'
import { testRedis } from '../helpers/redis.ts'

t.setTimeout(240_000)

interface Stage {
  pair: PostgresPair
  indexer: IndexerProcess
  play: () => Promise<unknown>
  synced: (db: Db) => Promise<void>
  isEqual: (db: Db) => Promise<boolean>
}

async function stage(t: Test, redisUrl: string | null): Promise<Stage> {
  const pair = await postgresPair(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 40 })
  const network = {
    blockchain: 'DEVNET',
    networkId: '31337',
    rpcUrls: [anvil.url],
    wsUrl: anvil.wsUrl,
    pollIntervalMs: 50,
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  const indexer = await indexerProcess(t, { databaseUrl: pair.url, redisUrl, networks: { evm: [network] } })
  indexer.start()
  const synced = (db: Db): Promise<void> => untilSynced(db, anvil.url, indexer)
  await player.playLoans(3)
  await synced(pair.primary.admin)
  return {
    ...{ pair, indexer, synced },
    play: () => player.playLoans(3),
    isEqual: async (db) => (await compareWithChain(db, anvil.url, deployment)).differences.length === 0,
  }
}

/** Milliseconds from now until the position moves in this database. */
async function untilWrites(db: Db, indexer: IndexerProcess): Promise<number> {
  const number = async (): Promise<number> =>
    (await db.selectFrom('ledger.chain_position').select('number').executeTakeFirst())?.number ?? -1
  const [before, fromMs] = [await number(), performance.now()]
  await eventually(`writing again\n${indexer.output}`, async () => (await number()) > before, 60_000)
  return performance.now() - fromMs
}

async function isServing(pair: PostgresPair): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity where application_name = 'loan-activity indexer'`.execute(
    pair.standby.admin,
  )
  return rows.length > 0
}

for (const queue of ['Postgres', 'Redis']) {
  void t.test(`open sessions become read-only, the queue on ${queue}`, async (t) => {
    const redisUrl = queue === 'Redis' ? await testRedis(t) : null
    const { pair, indexer, play, synced, isEqual } = await stage(t, redisUrl)
    const old = pair.primary.admin
    await pair.caughtUp()
    await sql`alter system set default_transaction_read_only = on`.execute(old)
    await sql`select pg_reload_conf()`.execute(old)
    await play()
    await indexer.untilSays('takes no writes')
    await play()

    await pair.promote()
    pair.leadTo(pair.standby)
    const ms = await untilWrites(pair.standby.admin, indexer)
    t.comment(`writes again after ${ms.toFixed(0)} ms`)
    t.ok(await isServing(pair))
    await synced(pair.standby.admin)
    t.ok(await isEqual(pair.standby.admin))
    t.equal(await indexer.stop(), 0)
  })

  void t.test(`the primary dies, and its standby is promoted later, the queue on ${queue}`, async (t) => {
    const redisUrl = queue === 'Redis' ? await testRedis(t) : null
    const { pair, indexer, play, synced, isEqual } = await stage(t, redisUrl)
    await pair.caughtUp()
    await pair.primary.kill()
    pair.leadTo(pair.standby)
    pair.reset()
    await play()
    await indexer.untilSays('is a standby')
    await play()

    await pair.promote()
    const ms = await untilWrites(pair.standby.admin, indexer)
    t.comment(`writes again after ${ms.toFixed(0)} ms`)
    await synced(pair.standby.admin)
    t.ok(await isEqual(pair.standby.admin))
    t.equal(await indexer.stop(), 0)
  })
}
