import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { startAnvil } from '../devnet/evm/anvil.ts'
import { deployContracts } from '../devnet/evm/deploy.ts'
import { createPlayer } from '../devnet/evm/player.ts'
import type { Db } from '../shared/db/connect.ts'
import { compareWithChain } from '../test/helpers/compare-with-chain.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { compile } from '../test/kill-points/compile.ts'
import { IndexerLife } from '../test/kill-points/indexer-life.ts'
import type { Databases } from './services.ts'

export type Who = 'first' | 'second'

/** Two indexers of one network. Each has its own database role, so the database notes which one writes. */
export interface Pair {
  rpcUrl: string
  start(who: Who): void
  life(who: Who): IndexerLife
  /** Returns the network's present writer. */
  leader(): Promise<Who>
  /** Waits until its output, from a position on, reports that it stands by. */
  untilStandsBy(who: Who, from?: number): Promise<void>
  /** Returns the number of the last write. */
  lastWrite(): Promise<number>
  writesOf(who: Who): Promise<number>
  /**
   * Waits for its first write after that number; returns when it became the writer and when it wrote, ms since the
   * epoch.
   */
  untilWrites(who: Who, after: number): Promise<{ leadsAtMs: number; writesAtMs: number }>
  /** Throws unless each writer epoch had one writer, in sequence, and the index matches the chain. */
  examine(): Promise<void>
  stop(): Promise<void>
}

const LOANS = 8
const PASSWORD = 'bench'
const WITHIN_MS = 120_000

/** Creates a role for each, and a table of their writes, ordered by their locks on the network's row. */
async function noteWriters(db: Db): Promise<void> {
  for (const who of ['first', 'second'])
    await sql`create role ${sql.id(who)} superuser login password ${sql.lit(PASSWORD)}`.execute(db)
  await sql`create schema bench`.execute(db)
  await sql`create table bench.writes (
    number bigint generated always as identity primary key, who text not null, epoch bigint not null,
    block bigint, what text not null, at timestamptz not null default clock_timestamp())`.execute(db)
  await sql`create function bench.note() returns trigger language plpgsql as $$ begin
    insert into bench.writes (who, epoch, block, what) values (session_user, new.writer_epoch, new.number,
      case when tg_op = 'INSERT' or new.writer_epoch <> old.writer_epoch then 'leads' else 'writes' end);
    return null; end $$`.execute(db)
  await sql`create trigger note after insert or update on ledger.chain_position
    for each row execute function bench.note()`.execute(db)
}

/** Starts both indexers; the first one leads. */
export async function openPair({ databaseUrl, redisUrl, db }: Databases): Promise<Pair> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one().catch(() => undefined)
  }
  try {
    await noteWriters(db)
    const anvil = await startAnvil()
    stops.push(() => anvil.stop())
    const deployment = await deployContracts(anvil.url)
    await createPlayer({ rpcUrl: anvil.url, deployment, seed: 'takeover' }).playLoans(LOANS)
    const program = await compile()
    stops.push(() => program.remove())
    const folder = await mkdtemp(join(tmpdir(), 'loan-activity-takeover-'))
    stops.push(() => rm(folder, { recursive: true, force: true }))
    const networksFile = join(folder, 'networks.json')
    const network = {
      ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
      erc20Loans: { address: deployment.erc20Loans },
      erc20CollateralLock: { address: deployment.erc20CollateralLock },
    }
    await writeFile(networksFile, JSON.stringify({ evm: [network] }))

    const lives = new Map<Who, IndexerLife>()
    const ports = { first: await freePort(), second: await freePort() }
    const start = (who: Who): void => {
      const url = new URL(databaseUrl)
      url.username = who
      url.password = PASSWORD
      const environment = {
        ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], LOG_LEVEL: 'debug', DATA_DIR: folder },
        ...{ DATABASE_URL: url.href, REDIS_URL: redisUrl ?? '' },
        ...{ NETWORKS_FILE: networksFile, INDEXER_PORT: String(ports[who]) },
      }
      lives.set(who, new IndexerLife(program, environment, null))
    }
    const life = (who: Who): IndexerLife => {
      const found = lives.get(who)
      if (found === undefined) throw new Error(`${who} was never started`)
      return found
    }
    stops.push(() =>
      Promise.all(
        [...lives.values()].map((one) => {
          one.signal('SIGCONT')
          return one.stop()
        }),
      ),
    )
    const pair: Pair = {
      ...{ rpcUrl: anvil.url, start, life, stop, ...questions(db) },
      untilStandsBy: (who, from = 0) =>
        until(
          `${who} stands by`,
          () => life(who).output.slice(from).includes('standing by') || undefined,
        ).then(() => undefined),
      async examine() {
        await examineWriters(db)
        await until('the index is at the head', async () => {
          const { differences } = await compareWithChain(db, anvil.url, deployment)
          return differences.length === 0 || undefined
        })
      },
    }
    start('first')
    await pair.untilWrites('first', 0)
    start('second')
    return pair
  } catch (error) {
    await stop()
    throw error
  }
}

type Questions = Pick<Pair, 'leader' | 'lastWrite' | 'writesOf' | 'untilWrites'>

function questions(db: Db): Questions {
  const first = async (when: ReturnType<typeof sql>): Promise<{ number: number; at: Date } | undefined> =>
    (
      await sql<{
        number: number
        at: Date
      }>`select number, at from bench.writes where ${when} order by number limit 1`.execute(db)
    ).rows[0]
  return {
    async leader() {
      const { rows } = await sql<{ who: Who }>`
        select who from bench.writes where what = 'leads' order by number desc limit 1`.execute(db)
      return rows[0]?.who ?? 'first'
    },
    async lastWrite() {
      const { rows } = await sql<{ last: number }>`
        select coalesce(max(number), 0) as last from bench.writes`.execute(db)
      return rows[0]?.last ?? 0
    },
    async writesOf(who) {
      const { rows } = await sql<{ writes: number }>`
        select count(*) as writes from bench.writes where who = ${who}`.execute(db)
      return rows[0]?.writes ?? 0
    },
    untilWrites: (who, after) =>
      until(`${who} writes`, async () => {
        const leads = await first(sql`who = ${who} and number > ${after} and what = 'leads'`)
        if (leads === undefined) return undefined
        const writes = await first(
          sql`who = ${who} and number > ${leads.number} and what = 'writes' and block is not null`,
        )
        return writes && { leadsAtMs: leads.at.getTime(), writesAtMs: writes.at.getTime() }
      }),
  }
}

/** The notes have the order of the writes, because each write locks the network's row. */
async function examineWriters(db: Db): Promise<void> {
  const { rows } = await sql<{ number: number }>`
    with notes as (
      select *, lag(epoch, 1, 0::bigint) over (order by number) as epoch_before,
        lag(who) over (order by number) as who_before
      from bench.writes
    )
    select number from notes
    where epoch < epoch_before or (what = 'writes' and (epoch <> epoch_before or who <> who_before))
       or (what = 'leads' and epoch <> epoch_before + 1)`.execute(db)
  if (rows.length > 0) throw new Error(`two wrote at once, ${rows.length} times: no figure`)
}

async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = performance.now() + WITHIN_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`waited ${WITHIN_MS} ms in vain: ${what}`)
    await sleep(10)
  }
}
