import { setTimeout as sleep } from 'node:timers/promises'
import { JsonRpcProvider } from 'ethers'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import type { Db } from '../../shared/db/connect.ts'
import { testDatabase } from '../helpers/database.ts'
import { strangerOf } from '../helpers/stranger.ts'
import { indexerProcess, type IndexerProcess } from '../helpers/indexer-process.ts'

t.setTimeout(300_000)

interface Ground {
  url: string
  db: Db
  indexers: [IndexerProcess, IndexerProcess]
}

/** Two indexers that are not started, and a chain with a block every second. */
async function ground(t: Test): Promise<Ground> {
  const { url, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true })
  await provider.send('evm_setIntervalMining', [1])
  provider.destroy()
  const networks = {
    evm: [
      {
        ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 100 },
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const indexer = (): Promise<IndexerProcess> => indexerProcess(t, { databaseUrl: url, networks })
  return { url, db, indexers: [await indexer(), await indexer()] }
}

async function until(good: () => Promise<boolean>, withinMs = 60_000): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < withinMs) {
    if (await good()) return performance.now() - since
    await sleep(20)
  }
  return Infinity
}

async function epoch(db: Db): Promise<number> {
  const row = await db.selectFrom('ledger.chain_position').select('writer_epoch').executeTakeFirst()
  return row?.writer_epoch ?? 0
}

async function indexed(db: Db): Promise<number> {
  const row = await db.selectFrom('ledger.chain_position').select('number').executeTakeFirst()
  return row?.number ?? -1
}

interface Readiness {
  status: number
  state: string
  leader?: string
}

async function readiness(indexer: IndexerProcess): Promise<Readiness> {
  const response = await fetch(`${indexer.url}/readyz`).catch(() => undefined)
  if (response === undefined) return { status: 0, state: 'not there' }
  const { payload } = (await response.json()) as { payload: { state: string; writer: { leader?: string } }[] }
  const [network] = payload
  return { status: response.status, state: '', ...network, ...network?.writer }
}

void t.test('the lead: held against strangers, passed on by the killed and by the frozen', async (t) => {
  const { url, db, indexers } = await ground(t)
  const [first, second] = indexers
  const { stranger } = await strangerOf(t, { url, db })
  // The key that the writer's lock had.
  await sql`select pg_advisory_lock(
    ('x' || left(encode(sha256('loan-activity/writer of evm:31337'), 'hex'), 16))::bit(64)::bigint)`.execute(
    stranger,
  )

  first.start()
  second.start()
  const states = async (): Promise<string> =>
    (await Promise.all([readiness(first), readiness(second)]))
      .map(({ state }) => state)
      .sort()
      .join()
  t.ok(Number.isFinite(await until(async () => (await states()) === 'following,standby')), 'one of two leads')
  const isFirst = (await readiness(first)).state === 'following'
  const [leader, standby] = isFirst ? [first, second] : [second, first]
  const named = new RegExp(`, process ${leader.pid}$`)
  const isReady = async (): Promise<boolean> => (await readiness(standby)).status === 200
  t.ok(Number.isFinite(await until(isReady)), 'a standby is ready once it knows the leader of each role')
  t.match(await readiness(standby), { leader: named })
  t.match(standby.output, new RegExp(`another process leads: .*, process ${leader.pid}; standing by`))

  const before = await epoch(db)
  await leader.kill()
  const killedMs = await until(async () => (await epoch(db)) > before)
  // Without the end of its session only the end of its lease would show it, after 15 s.
  t.ok(killedMs < 14_000, `a killed leader is replaced after ${Math.round(killedMs)} ms`)

  leader.start()
  await leader.untilSays('standing by')
  const held = await epoch(db)
  process.kill(standby.pid, 'SIGSTOP')
  const frozenMs = await until(async () => (await epoch(db)) > held)
  t.ok(Number.isFinite(frozenMs), `a frozen one after ${Math.round(frozenMs)} ms`)
  process.kill(standby.pid, 'SIGCONT')
  // The reader of the process that woke up may be a moment later than its writer.
  await until(async () => {
    const { state, status } = await readiness(standby)
    return state === 'standby' && status === 200
  })
  t.match(await readiness(standby), { leader: new RegExp(`, process ${leader.pid}$`) })
  const after = await epoch(db)
  const place = await indexed(db)
  await until(async () => (await indexed(db)) > place + 2)
  t.equal(await epoch(db), after, 'the one that woke up takes nothing back')

  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'loan-activity lease%'`.execute(db)
  t.ok(
    (await until(async () => (await epoch(db)) > after)) < 14_000,
    'a lost session is followed by another leader',
  )
  const again = await indexed(db)
  t.ok(Number.isFinite(await until(async () => (await indexed(db)) > again)), 'who writes')
  t.comment(`killed: ${Math.round(killedMs)} ms, frozen: ${Math.round(frozenMs)} ms`)
  t.equal(await first.stop(), 0)
  t.equal(await second.stop(), 0)
})

void t.test(
  'a step that cannot be written stays the problem until it is written',
  async (t): Promise<void> => {
    const { db, indexers } = await ground(t)
    const [indexer] = indexers
    indexer.start()
    await until(async () => (await indexed(db)) >= 0)
    // Every step is refused from here on, with a code that no retry mends.
    await sql`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'refused by the test' using errcode = '23514'; end $$`.execute(db)
    await sql`create trigger refuse before insert on ledger.block_headers execute function refuse()`.execute(
      db,
    )
    const row = (): Promise<{ state: string; problem: string | null; kind: string | null }> =>
      db
        .selectFrom('ledger.network_status')
        .select(['state', 'problem', 'problem_kind as kind'])
        .where('role', '=', 'writer')
        .executeTakeFirstOrThrow()
    const namedMs = await until(async () => (await row()).problem !== null)
    t.ok(Number.isFinite(namedMs), `named after ${Math.round(namedMs)} ms`)
    for (let looks = 0; looks < 240; looks += 1) {
      const told = await row()
      if (
        told.state !== 'retrying' ||
        told.kind !== 'step' ||
        !/refused by the test/.test(told.problem ?? '')
      )
        throw new Error(`look ${looks}: ${JSON.stringify(told)}`)
      await sleep(30)
    }
    t.equal((await readiness(indexer)).status, 503)
    await sql`drop trigger refuse on ledger.block_headers`.execute(db)
    const place = await indexed(db)
    t.ok((await until(async () => (await indexed(db)) > place)) < 10_000)
    t.ok((await until(async () => (await row()).problem === null)) < 5_000)
    t.match(await row(), { state: 'following' })
    t.equal(await indexer.stop(), 0)
  },
)
