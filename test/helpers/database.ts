import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import tap, { type Test } from 'tap'
import { connect, type Db } from '../../shared/db/connect.ts'
import { startServices } from './services.ts'

export interface TestDatabase {
  url: string
  /** A pool of the test's own; closed in teardown. */
  db: Db
  /** The server without a database, for tests that create databases or roles themselves. */
  serverUrl: string
}

interface Server {
  url: string
  template: string
}

const OWN_POOL = 'loan-activity test'
/** A busy machine may take longer for a connection than the service should wait. */
const PATIENT = { connectWithinMs: 60_000 }

/**
 * Creates a database of the test's own: a clone of the migrated template, or an empty one. Teardown drops it and fails
 * the test when a connection is still open. A file that runs alone brings its own Postgres.
 */
export async function testDatabase(t: Test, options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const server = await findServer()
  const name = `test_${process.pid}_${randomBytes(5).toString('hex')}`
  const template = options.migrated === false ? 'template0' : server.template
  // Copying files takes half the time of writing each block to the WAL.
  await asAdmin(server, (admin) =>
    sql`create database ${sql.id(name)} template ${sql.id(template)} strategy file_copy`.execute(admin),
  )
  const url = `${server.url}/${name}`
  const db = connect(url, { name: OWN_POOL, ...PATIENT })
  t.teardown(async () => {
    await db.destroy()
    const leaked = await asAdmin(server, (admin) => connectionsTo(admin, name))
    await asAdmin(server, (admin) => sql`drop database ${sql.id(name)} with (force)`.execute(admin))
    if (leaked.length > 0) throw new Error(`connections left open in ${t.name}: ${leaked.join(', ')}`)
  })
  return { url, db, serverUrl: server.url }
}

let ownServer: Promise<Server> | undefined

/** `npm test` provides a server; a file that runs alone starts one, which ends with the file. */
function findServer(): Promise<Server> {
  const { TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: template } = process.env
  if (url !== undefined && template !== undefined) return Promise.resolve({ url, template })
  ownServer ??= startOwnServer()
  return ownServer
}

async function startOwnServer(): Promise<Server> {
  const services = await startServices(['postgres'])
  tap.teardown(() => services.stop())
  return { url: services.postgresUrl, template: services.template }
}

async function asAdmin<T>(server: Server, work: (admin: Db) => Promise<T>): Promise<T> {
  const admin = connect(`${server.url}/postgres`, { name: 'loan-activity test admin', max: 1, ...PATIENT })
  try {
    return await work(admin)
  } finally {
    await admin.destroy()
  }
}

/** Returns the names of open connections; a server needs a moment to notice that a client has left. */
async function connectionsTo(admin: Db, name: string): Promise<string[]> {
  for (const waitMs of [0, 50, 200, 500, 1000, 2000]) {
    await delay(waitMs)
    const { rows } = await sql<{ application_name: string; query: string }>`
      select application_name, query from pg_stat_activity
      where datname = ${name} and backend_type = 'client backend'`.execute(admin)
    if (rows.length === 0) return []
    if (waitMs === 2000) return rows.map((row) => `${row.application_name} (${row.query.slice(0, 80)})`)
  }
  return []
}
