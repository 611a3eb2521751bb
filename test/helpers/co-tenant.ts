import { createPostgresBackend, Queue, withBackend, type JobsOptions } from 'bullmq'
import { sql } from 'kysely'
import type { Test } from 'tap'
import type { Db } from '../../shared/db/connect.ts'

export interface CoTenant {
  queue: Pick<Queue, 'add' | 'addBulk' | 'drain' | 'pause' | 'setGlobalConcurrency'>
  /** The URL of its role; undefined on Redis. */
  databaseUrl: string | undefined
  add: (data: unknown, options?: JobsOptions) => Promise<void>
}

/** Opens a tenant with write access to the service's Redis. */
export function redisTenant(t: Test, redisUrl: string, queueName: string): CoTenant {
  const queue = new Queue(queueName, { prefix: 'loan-activity', connection: { url: redisUrl } })
  t.teardown(() => queue.close())
  return tenantOf(queue, undefined)
}

/** Opens a tenant whose Postgres role has only USAGE and DML on the queue's schema. */
export async function postgresTenant(t: Test, db: Db, url: string, queueName: string): Promise<CoTenant> {
  const databaseUrl = await roleOfQueue(t, db, url)
  const bull = withBackend(createPostgresBackend)
  const queue = new bull.Queue(queueName, {
    connection: { connectionString: databaseUrl, schema: 'queue', max: 2 },
  })
  t.teardown(() => queue.close())
  return tenantOf(queue, databaseUrl)
}

function tenantOf(queue: CoTenant['queue'], databaseUrl: string | undefined): CoTenant {
  const add: CoTenant['add'] = async (data, options) => {
    await queue.add('blocks', data, options)
  }
  return { queue, databaseUrl, add }
}

let roles = 0

/** Returns the URL of a new role with USAGE and DML on the queue's schema; the role is dropped in teardown. */
export async function roleOfQueue(t: Test, db: Db, url: string): Promise<string> {
  const name = `co_tenant_${process.pid}_${(roles += 1)}`
  const role = sql.id(name)
  await sql`create role ${role} login password 'secret'`.execute(db)
  t.teardown(async () => {
    await sql`drop owned by ${role}`.execute(db)
    await sql`drop role ${role}`.execute(db)
  })
  await sql`grant usage on schema queue to ${role}`.execute(db)
  await sql`grant select, insert, update, delete on all tables in schema queue to ${role}`.execute(db)
  await sql`grant usage on all sequences in schema queue to ${role}`.execute(db)
  const own = new URL(url)
  own.username = name
  own.password = 'secret'
  return own.href
}
