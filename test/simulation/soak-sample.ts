import { readdirSync } from 'node:fs'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { memoryOf } from '../helpers/process-memory.ts'
import type { Stage } from './stage.ts'

/** The service's resources at one moment. */
export interface Sample {
  /** Minutes since the start of the measurement. */
  minutes: number
  /** Records in the history. */
  records: number
  /** Quantities that must not grow with time, by name, in the unit of the name. */
  held: Record<string, number>
  /** Bytes of each table's rows (with their overflow storage) and of its indexes, and its number of rows. */
  tables: Record<string, TableSize>
}

export interface TableSize {
  tableBytes: number
  indexBytes: number
  /** Postgres' own estimate, like dead rows. */
  rows: number
  deadRows: number
}

const SCHEMAS = ['ledger', 'projection', 'queue']
/** Counted exactly, because retention bounds them. */
const BOUNDED = [
  'ledger.block_headers',
  'ledger.ranges_read',
  'ledger.waiting_vouchers',
  'ledger.dead_letters',
]

/** Measures processes, database and Redis. Throws when the database is away. */
export async function takeSample(stage: Stage, minutes: number): Promise<Sample> {
  const { rows } = await sql<{ records: number }>`select records from projection.fold_state`.execute(stage.db)
  return {
    minutes,
    records: rows[0]?.records ?? 0,
    held: {
      ...processes(stage),
      ...(await sessions(stage.db)),
      ...(await bounded(stage.db)),
      ...(await queue(stage)),
    },
    tables: await tables(stage.db),
  }
}

function processes({ indexers, api }: Stage): Record<string, number> {
  return Object.fromEntries(
    [...indexers, api].flatMap(({ name, pid }) =>
      pid === undefined
        ? []
        : [
            [`${name}: resident MiB`, memoryOf(pid).residentMiB],
            [`${name}: open files`, readdirSync(`/proc/${pid}/fd`).length],
          ],
    ),
  )
}

async function sessions(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ sessions: number; locks: number }>`
    select (select count(*) from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend'
              and application_name not like 'simulation%') as sessions,
           (select count(*) from pg_locks where locktype = 'advisory') as locks`.execute(db)
  return {
    'database sessions': rows[0]?.sessions ?? NaN,
    'advisory locks': rows[0]?.locks ?? NaN,
  }
}

async function bounded(db: Db): Promise<Record<string, number>> {
  const counts: [string, number][] = []
  for (const table of BOUNDED) {
    const { rows } = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(db)
    counts.push([`rows of ${table}`, rows[0]?.rows ?? NaN])
  }
  return Object.fromEntries(counts)
}

/** Counts the waiting, active, failed and abandoned jobs of all queues. */
function queue({ db, redis }: Stage): Promise<Record<string, number>> {
  return redis === undefined ? onPostgres(db) : onRedis(redis.url)
}

async function onPostgres(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ jobs: number; events: number }>`
    select (select count(*) from queue.job) as jobs, (select count(*) from queue.event) as events`.execute(db)
  return { 'queue: jobs': rows[0]?.jobs ?? NaN, 'queue: events of jobs': rows[0]?.events ?? NaN }
}

async function onRedis(url: string): Promise<Record<string, number>> {
  const client = new Redis(url, { maxRetriesPerRequest: 1 })
  try {
    const clients = await client.client('LIST')
    const memory = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1]
    return {
      'queue: keys in Redis': await client.dbsize(),
      'Redis: connections': String(clients).trim().split('\n').length - 1,
      'Redis: MiB': Math.round((Number(memory) / 2 ** 20) * 100) / 100,
    }
  } finally {
    client.disconnect()
  }
}

async function tables(db: Db): Promise<Record<string, TableSize>> {
  const { rows } = await sql<TableSize & { name: string }>`
    select schemaname || '.' || relname as name, n_live_tup as rows, n_dead_tup as "deadRows",
           pg_table_size(relid) as "tableBytes", pg_indexes_size(relid) as "indexBytes"
    from pg_stat_user_tables where schemaname = any (${SCHEMAS}) order by 1`.execute(db)
  return Object.fromEntries(rows.map(({ name, ...size }) => [name, size]))
}
