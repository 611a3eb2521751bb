import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { queuePrefix } from '../../indexer/queue/queue-prefix.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import { connect } from '../../shared/db/connect.ts'
import { startRedisCluster } from '../helpers/redis-cluster.ts'
import type { RedisGroup, RedisNode } from '../helpers/redis-group.ts'
import { startSentinelGroup } from '../helpers/redis-sentinel.ts'
import type { Stage } from '../helpers/indexer-process.ts'
import { pgbouncer } from '../helpers/pgbouncer.ts'
import { killAgainAndAgain, type KillFigures, type Victim } from './kills.ts'
import { BINARIES, startPatroni, type PatroniCluster } from './patroni.ts'
import { startService } from './service.ts'

const USAGE = `usage: npm run ha-test -- [--kills N] [--only patroni,sentinel,cluster]

Kills the primary of three Postgres servers under Patroni, the master of three Redis servers with Sentinel, and the node of
a Redis Cluster that has the queue, N times each (default 20), while a chain is indexed and clients read through PgBouncer.
One of three members of etcd dies with each second primary. Prints figures, and fails when one is missed.
`

/** Seconds within which the service must write again. */
const SCENARIOS = { patroni: 15, sentinel: 10, cluster: 10 }
type Scenario = keyof typeof SCENARIOS

const PROGRAMS = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  ps: 'procps',
  postgres: 'postgresql-15',
}

function requirePrograms(): void {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', BINARIES]
  const missing = Object.entries(PROGRAMS).filter(
    ([program]) => !folders.some((folder) => isExecutable(join(folder, program))),
  )
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name).join(' ')
  console.error(`ha-test: ${missing.map(([name]) => name).join(', ')} missing: apt-get install ${packages}`)
  process.exit(2)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

class Cleanup implements Stage {
  readonly #stops: (() => unknown)[] = []

  teardown(...[stop]: Parameters<Stage['teardown']>): void {
    this.#stops.push(stop as () => unknown)
  }

  comment(...words: unknown[]): void {
    console.error(...words)
  }

  async run(): Promise<void> {
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop())
      await Promise.resolve(stop()).catch((error: unknown) => console.error(error))
  }
}

/** Everything stays up between the scenarios, as it does in a service's life. */
async function run(
  stage: Cleanup,
  names: readonly Scenario[],
  kills: number,
): Promise<Map<Scenario, KillFigures>> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-ha-'))
  await chmod(folder, 0o755)
  stage.teardown(() => rm(folder, { recursive: true, force: true }))
  console.log('starting three members of etcd, three Postgres servers under Patroni, HAProxy')
  const cluster = await startPatroni(folder, (stop) => stage.teardown(stop))
  const pooled = await pgbouncer(stage, cluster.replicasUrl, { mode: 'session' })
  const figures = new Map<Scenario, KillFigures>()
  for (const name of names) {
    console.log(`${name}: starting an indexer and an API`)
    const own = new Cleanup()
    stage.teardown(() => own.run())
    const redis = await redisOf(name)
    own.teardown(() => redis?.stop())
    const service = await startService(own, {
      databaseUrl: await newDatabase(cluster.primaryUrl, name),
      readDatabaseUrl: databaseIn(pooled, name),
      redisUrl: redis?.url ?? null,
    })
    const victim = redis ?? primaryOf(cluster)
    figures.set(
      name,
      await killAgainAndAgain(service, victim, kills, (line) => console.log(`${name}: ${line}`)),
    )
    await own.run()
  }
  return figures
}

/** Each scenario has a chain of its own, and so a database. */
async function newDatabase(serverUrl: string, name: string): Promise<string> {
  const server = connect(serverUrl, { name: 'ha-test', max: 1 })
  await sql`create database ${sql.id(name)} template template0`.execute(server)
  await server.destroy()
  return databaseIn(serverUrl, name)
}

function databaseIn(serverUrl: string, name: string): string {
  return Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href
}

function primaryOf(cluster: PatroniCluster): Victim {
  const { members } = cluster.etcd
  let kills = 0
  return {
    async kill() {
      const primary = await cluster.primary()
      if (primary === undefined) throw new Error('there is no primary to kill')
      kills += 1
      // A machine that has both may be lost: each second primary dies with a member of etcd, its leader at times.
      if (kills % 2 === 0) await members[(kills / 2) % members.length]?.kill()
      cluster.killPostgres(primary)
    },
    async isWhole() {
      await cluster.etcd.restart()
      await cluster.isWhole()
    },
  }
}

/** Undefined where the queue is in Postgres. */
async function redisOf(name: Scenario): Promise<(Victim & Pick<RedisGroup, 'url' | 'stop'>) | undefined> {
  if (name === 'patroni') return undefined
  if (name === 'sentinel') {
    const group = await startSentinelGroup()
    return victimIn(group, () => group.master())
  }
  const group = await startRedisCluster()
  return victimIn(group, () => group.masterOf(queuePrefix(group.url, stepQueueName('evm:31337'))))
}

function victimIn(group: RedisGroup, master: () => RedisNode): Victim & Pick<RedisGroup, 'url' | 'stop'> {
  let killed = master()
  return {
    ...{ url: group.url, stop: () => group.stop() },
    async kill() {
      killed = master()
      await killed.process.kill()
    },
    async isWhole() {
      killed.process.start()
      await group.isWhole()
    },
  }
}

function print(figures: ReadonlyMap<Scenario, KillFigures>): boolean {
  console.log(
    '\n| scenario | kills | writes again after, median and most | steps lost | reads | failed | told to wait | went back | slowest |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|')
  let isMet = true
  for (const [name, { kills, seconds, lost, differences, ...reads }] of figures) {
    const sorted = seconds.toSorted((a, b) => a - b)
    const [median = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    console.log(
      `| ${name} | ${kills} | ${median.toFixed(1)} s, ${most.toFixed(1)} s | ${lost + differences.length} | ${reads.reads} | ${reads.failed} | ${reads.toldToWait} | ${reads.wentBack} | ${reads.slowestMs.toFixed(0)} ms |`,
    )
    for (const line of [...reads.failures, ...differences.slice(0, 5)]) console.log(`  ${name}: ${line}`)
    if (most > SCENARIOS[name] || lost + differences.length + reads.failed + reads.wentBack > 0) isMet = false
  }
  return isMet
}

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    only: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    help: { type: 'boolean', default: false },
  },
})
const names = values.only.split(',').filter((name): name is Scenario => Object.hasOwn(SCENARIOS, name))
const kills = Number(values.kills)
if (values.help || names.length === 0 || !(kills > 0)) {
  console.log(USAGE)
  process.exit(values.help ? 0 : 2)
}
requirePrograms()
const stage = new Cleanup()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.run().then(() => process.exit(130)))
let isMet = false
try {
  isMet = print(await run(stage, names, kills))
} finally {
  await stage.run()
}
process.exit(isMet ? 0 : 1)
