import pg from 'pg'
import { messageOf } from '../../shared/errors.ts'
import { startPostgres, type PostgresServer } from './server.ts'

/**
 * Runs Postgres for `npm start` in a process between the two. It stops the server in order on request, and also when
 * the supervisor dies in any way, because the IPC channel then closes. It sends 'ready' over that channel. Arguments:
 * data directory, port, database; the password is in POSTGRES_PASSWORD.
 */
const [dataDir = '', port = '', database = ''] = process.argv.slice(2)
const password = process.env['POSTGRES_PASSWORD'] ?? ''
const stopRequested = new AbortController()
// A function avoids TypeScript's narrowing of `signal.aborted` across awaits.
const mustStop = (): boolean => stopRequested.signal.aborted
let server: PostgresServer | undefined

function requestStop(): void {
  stopRequested.abort()
  void server?.stop()
}

// The supervisor that reads our output may be dead; a failed write must not keep the server from being stopped.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, requestStop)
process.on('disconnect', requestStop)
// The supervisor disconnected before this line was reached.
if (process.send !== undefined && !process.connected) requestStop()

try {
  server = await startPostgres({
    dataDir,
    port: Number(port),
    password,
    onLog: (line) => console.log(line),
  })
  if (!mustStop()) await ensureDatabase()
  // The request came during the start, when the signal had no server to stop.
  if (mustStop()) void server.stop()
  else process.send?.('ready')
  await server.exited
  if (!mustStop()) console.error('postgres: the server ended by itself')
  process.exit(mustStop() ? 0 : 1)
} catch (error) {
  await server?.stop()
  console.error(`postgres: ${messageOf(error)}`)
  process.exit(1)
}

async function ensureDatabase(): Promise<void> {
  const client = new pg.Client({ host: '127.0.0.1', port: Number(port), user: 'postgres', password })
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [database])
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`)
  } finally {
    await client.end()
  }
}
