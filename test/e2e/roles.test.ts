import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { getStatus } from '../../indexer/event-log/network-status.ts'
import type { Db } from '../../shared/db/connect.ts'
import { getHeldLeases } from '../../shared/db/leases.ts'
import { judgeNetwork } from '../../shared/indexing-health.ts'
import { branchingNetworks, positionOf, type BranchingNetwork } from '../helpers/branching-networks.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, type IndexerProcess, type IndexerSetup } from '../helpers/indexer-process.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import { brokenRules, contentOf, differences, replayDiffers } from '../kill-points/examine.ts'

t.setTimeout(400_000)

const NETWORKS = 3
/** Every process is killed so often. */
const ROUNDS = 2
/** Blocks of each network around one kill. */
const BLOCKS = 9

async function until(what: string, isSo: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}

async function queueOf(t: Test, kind: QueueKind): Promise<{ redisUrl: string | null } | undefined> {
  if (kind === 'postgres') return { redisUrl: null }
  const redisUrl = await testRedis(t)
  return redisUrl === null ? undefined : { redisUrl }
}

async function tellingOutputs<T>(
  t: Test,
  programs: readonly IndexerProcess[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    for (const { output } of programs) t.comment(output)
    throw error
  }
}

async function untilIndexed(
  t: Test,
  db: Db,
  networks: readonly BranchingNetwork[],
  programs: readonly IndexerProcess[],
): Promise<void> {
  const isThere = async (): Promise<boolean> =>
    (await Promise.all(networks.map((network) => network.isIndexed(db)))).every(Boolean)
  await tellingOutputs(t, programs, () => until('all networks are indexed', isThere))
}

/** The chains grow and branch as fast as they are indexed. */
async function play(db: Db, networks: readonly BranchingNetwork[], blocks: number): Promise<void> {
  await Promise.all(
    networks.map(async (network) => {
      for (let block = 0; block < blocks; block += 1) {
        network.advance()
        await until(`${network.network} is followed`, () => network.isClose(db))
      }
    }),
  )
}

/** Kills the program in the middle of the work, and starts it again. */
async function killAtWork(db: Db, program: IndexerProcess): Promise<void> {
  const before = await written(db)
  await until('something is written', async () => (await written(db)) > before)
  await program.kill()
  program.start()
}

/** Kills the writer of a network while it has a step in its hands; milliseconds until that step is written. */
async function killWithAStep(
  db: Db,
  network: BranchingNetwork,
  writers: readonly IndexerProcess[],
): Promise<number> {
  const killed = await db.transaction().execute(async (trx) => {
    await sql`lock table ledger.log_head in access exclusive mode`.execute(trx)
    network.advance()
    await until('the writer waits in its transaction', async () => {
      const { rows } = await sql`select from pg_stat_activity where datname = current_database()
        and application_name = 'loan-activity indexer' and wait_event_type = 'Lock'`.execute(db)
      return rows.length > 0
    })
    const lease = (await getHeldLeases(db)).find(({ name }) => name === `writer of ${network.network}`)
    const writer = writers.find(({ pid }) => lease?.holder.endsWith(`, process ${pid}`) === true)
    await writer?.kill()
    return writer
  })
  const sinceMs = performance.now()
  await until('the step is written by another writer', () => network.isIndexed(db))
  const tookMs = performance.now() - sinceMs
  killed?.start()
  return tookMs
}

async function written(db: Db): Promise<number> {
  const { rows } = await sql<{ steps: number }>`
    select coalesce(sum(number), 0)::float8 + (select last_position from ledger.log_head)::float8 as steps
    from ledger.chain_position`.execute(db)
  return rows[0]?.steps ?? 0
}

/** Without headers: which of them are kept below the final block depends on the steps. */
async function keptContent(db: Db): Promise<string[]> {
  return (await contentOf(db)).filter((line) => !line.startsWith('header '))
}

const digestOf = (content: readonly string[]): string =>
  createHash('sha256').update(content.join('\n')).digest('hex')

/** How many networks each process has: `reader 3, writer 1+2`. */
async function holders(db: Db): Promise<string> {
  const leases = await getHeldLeases(db)
  const loads = (['reader', 'writer'] as const).map((role) => {
    const own = leases.filter(({ name }) => name.startsWith(`${role} of `))
    const processes = [...new Set(own.map(({ process }) => process))]
    const counts = processes.map((process) => own.filter((lease) => lease.process === process).length)
    return `${role} ${counts.sort().join('+')}`
  })
  return loads.join(', ')
}

/** States of the networks as `ops status` and the API judge them, without repetitions. */
async function judged(db: Db): Promise<string[]> {
  const { networks } = await getStatus(db)
  return [
    ...new Set(
      networks
        .map(judgeNetwork)
        .map(
          ({ state, reader, writer, problemKind }) =>
            `${state}: ${reader}/${writer}, ${problemKind ?? 'no problem'}`,
        ),
    ),
  ]
}

/** Connections to the database beside the indexers' pools, once their number has stayed the same over many looks. */
async function connectionsBesidePools(db: Db): Promise<number> {
  let last = -1
  let same = 0
  while (same < 15) {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and application_name not in ('loan-activity indexer', 'loan-activity test')`.execute(db)
    const count = rows[0]?.count ?? 0
    same = count === last ? same + 1 : 0
    last = count
    await sleep(100)
  }
  return last
}

/** Connections that the program announces as its most, without its pool. */
function saidConnections(program: IndexerProcess): number {
  const POOL = 8
  return Number(/"connections":(\d+)/.exec(program.output)?.[1]) - POOL
}

async function readiness(program: IndexerProcess): Promise<{ status: number; payload: unknown }> {
  const response = await fetch(`${program.url}/readyz`)
  const { payload } = (await response.json()) as { payload: unknown }
  return { status: response.status, payload }
}

for (const kind of queueKinds) {
  void t.test(`a reader and two writers in processes of their own, the queue on ${kind}`, async (t) => {
    const queue = await queueOf(t, kind)
    if (queue === undefined) return
    const { url: databaseUrl, db } = await testDatabase(t)
    const { networks, file } = await branchingNetworks(t, NETWORKS)
    const setup: IndexerSetup = { databaseUrl, ...queue, networks: file }
    const reader = await indexerProcess(t, { ...setup, role: 'reader' })
    const writers = [
      await indexerProcess(t, { ...setup, role: 'writer' }),
      await indexerProcess(t, { ...setup, role: 'writer' }),
    ] as const
    const programs = [reader, ...writers]

    reader.start()
    await until('the reader reads', async () => (await holders(db)) === 'reader 3, writer ')
    await until('its status is there', async () => (await judged(db)).length === 1)
    await until(
      'the missing writer is named',
      async () => (await judged(db))[0] === 'unobserved: following/unobserved, writer',
    )
    await until('the reader is ready', async () => (await readiness(reader)).status === 200)
    const { payload } = await readiness(reader)
    t.match(payload, Array(NETWORKS).fill({ state: 'following', reader: { state: 'following' } }))
    t.notMatch(JSON.stringify(payload), /writer/, 'a reader says nothing of writing')
    const ofReader = await connectionsBesidePools(db)
    if (kind === 'postgres') t.equal(ofReader, saidConnections(reader), 'connections of a reader')
    writers[0].start()
    await until('the first writer writes all', async () => (await holders(db)) === 'reader 3, writer 3')
    await untilIndexed(t, db, networks, programs)
    const ofWriter = (await connectionsBesidePools(db)) - ofReader
    if (kind === 'postgres') t.equal(ofWriter, saidConnections(writers[0]), 'connections of a writer')
    writers[1].start()
    await until('the writers share', async () => (await holders(db)) === 'reader 3, writer 1+2')
    await untilIndexed(t, db, networks, programs)
    await until(
      'all is well',
      async () => (await judged(db)).join() === 'following: following/following, no problem',
    )
    await until('the second writer is ready', async () => (await readiness(writers[1])).status === 200)

    const [network] = networks
    if (network === undefined) throw new Error('there are networks')
    const tookMs = await tellingOutputs(t, programs, () => killWithAStep(db, network, writers))
    // BullMQ keeps the job of a dead worker for 30 s or more.
    t.ok(tookMs < 28_000, `a killed writer’s step is written after ${Math.round(tookMs)} ms`)
    await until('the writers share again', async () => (await holders(db)) === 'reader 3, writer 1+2')
    for (let round = 0; round < ROUNDS; round += 1)
      for (const program of programs) {
        const sinceMs = performance.now()
        await tellingOutputs(t, programs, () =>
          Promise.all([play(db, networks, BLOCKS), killAtWork(db, program)]),
        )
        t.comment(`round ${round}: ${Math.round(performance.now() - sinceMs)} ms`)
      }
    await untilIndexed(t, db, networks, programs)
    t.same(await brokenRules(db), [], 'nothing is doubled')
    const ops = await db.selectFrom('ledger.event_log').select('op').distinct().orderBy('op').execute()
    t.same(ops, [{ op: 'append' }, { op: 'replace' }, { op: 'retract' }], 'chains were reorganized')
    const content = await keptContent(db)
    for (const program of programs) t.equal(await program.stop(), 0)

    const undisturbed = await testDatabase(t)
    const alone = await indexerProcess(t, { databaseUrl: undisturbed.url, redisUrl: null, networks: file })
    alone.start()
    await untilIndexed(t, undisturbed.db, networks, [alone])
    t.equal(await alone.stop(), 0)
    const wanted = await keptContent(undisturbed.db)
    t.ok(wanted.length > 5_000, `${wanted.length} lines`)
    t.same(differences(content, wanted), [], 'nothing is lost')
    t.equal(digestOf(content), digestOf(wanted), 'the same digest as of one process')
    t.same(await replayDiffers(db), [])
  })
}

void t.test('a second process takes half of the networks, and gives them back when it leaves', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const { networks, file } = await branchingNetworks(t, 6)
  const [first, second] = [
    await indexerProcess(t, { databaseUrl, networks: file }),
    await indexerProcess(t, { databaseUrl, networks: file }),
  ]
  const [whole, halves] = ['reader 6, writer 6', 'reader 3+3, writer 3+3']
  const spread = (wanted: string): Promise<void> =>
    until(`${wanted} instead of what is`, async () => (await holders(db)) === wanted)
  first.start()
  await spread(whole)
  second.start()
  await spread(halves)
  const headsMove = async (): Promise<void> => {
    for (const network of networks) network.advance()
    await untilIndexed(t, db, networks, [first, second])
  }
  await headsMove()
  const states = async (): Promise<unknown[]> =>
    (await Promise.all([first, second].map(readiness))).map(({ status }) => status)
  await until('both are ready', async () => (await states()).join() === '200,200')
  t.equal(await second.stop(), 0)
  await spread(whole)
  await headsMove()
  second.start()
  await spread(halves)
  await first.kill()
  await spread(whole)
  await headsMove()
  t.same(await brokenRules(db), [])
  t.equal(await second.stop(), 0)
  t.ok(await positionOf(db, networks[0]?.network ?? ''))
})
