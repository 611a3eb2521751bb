import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { generate } from 'selfsigned'
import type { Test } from 'tap'
import { startPostgres } from '../../devnet/postgres/server.ts'
import { connect } from '../../shared/db/connect.ts'
import { freePort } from './free-port.ts'

const PASSWORD = 'password'

export interface TlsPostgres {
  /** URL of an empty database that accepts only TLS; it lacks the settings that verify the server. */
  url: string
  /** File of the server's certificate. */
  certificate: string
}

/** Starts a server of the test's own, whose certificate only the test knows. */
export async function tlsPostgres(t: Test): Promise<TlsPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-test-tls-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  const port = await freePort()
  const settings = { fsync: 'off' }
  const server = await startPostgres({ dataDir, port, password: PASSWORD, settings, onLog: () => undefined })
  t.teardown(() => server.stop())
  const certificate = join(folder, 'server.crt')
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'test' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  await writeFile(certificate, cert)
  // Postgres requires the key to belong to its user and to be private.
  const { uid, gid } = await stat(dataDir)
  const owned = {
    'server.crt': cert,
    'server.key': key,
    'pg_hba.conf': 'hostssl all all all scram-sha-256\n',
  }
  const admin = connect(`postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`, {
    name: 'test',
    max: 1,
  })
  for (const [name, text] of Object.entries(owned)) {
    await writeFile(join(dataDir, name), text, { mode: 0o600 })
    await chown(join(dataDir, name), uid, gid)
  }
  await sql`alter system set ssl = on`.execute(admin)
  await sql`select pg_reload_conf()`.execute(admin)
  await admin.destroy()
  return { url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`, certificate }
}
