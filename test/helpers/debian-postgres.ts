import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { accountForPostgres } from '../../devnet/postgres/run-as.ts'
import { startPostgres } from '../../devnet/postgres/server.ts'
import { freePort } from './free-port.ts'

const PASSWORD = 'password'
const FAST = { fsync: 'off', max_connections: '60' }
const TOOLS = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'pg_basebackup']

export interface DebianServer {
  /** The superuser's URL of a database. */
  urlOf: (database: string) => string
  stop: () => Promise<void>
}

/**
 * Servers of the machine's own Postgres in one folder, with its programs for backups, which the npm package lacks.
 */
export class DebianPostgres {
  readonly folder: string
  readonly #t: Test
  readonly #programs: string
  readonly #account: { uid: number; gid: number } | undefined

  private constructor(t: Test, programs: string) {
    this.#t = t
    this.#programs = programs
    this.folder = mkdtempSync(join(tmpdir(), 'loan-activity-test-backups-'))
    t.teardown(() => rmSync(this.folder, { recursive: true, force: true }))
    this.#account = accountForPostgres(join(this.folder, 'none'))
    if (this.#account !== undefined) chownSync(this.folder, this.#account.uid, this.#account.gid)
  }

  /** Undefined without Postgres on this machine: the test then reports that and ends; in CI it fails. */
  static find(t: Test): DebianPostgres | undefined {
    const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
    const programs = versions
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => `/usr/lib/postgresql/${version}/bin`)
      .find((folder) => TOOLS.every((tool) => existsSync(join(folder, tool))))
    if (programs !== undefined) return new DebianPostgres(t, programs)
    const reason = 'Postgres is not installed: `apt-get install postgresql`'
    if (process.env['CI'] === 'true') t.fail(reason)
    else t.comment(`skipped: ${reason}`)
    return undefined
  }

  /** Starts the server whose data are in the folder `name`, which is created if it is not there. */
  async start(name: string, settings: Record<string, string> = {}): Promise<DebianServer> {
    const port = await freePort()
    const server = await startPostgres({
      ...{ dataDir: join(this.folder, name), port, password: PASSWORD, programs: this.#programs },
      ...{ settings: { ...FAST, ...settings }, onLog: () => undefined },
    })
    this.#t.teardown(() => server.stop())
    return {
      urlOf: (database) => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`,
      stop: () => server.stop(),
    }
  }

  /** Runs shell commands in the folder, as Postgres' account and with its programs. */
  async run(commands: string, environment: Record<string, string> = {}): Promise<void> {
    const PATH = `${this.#programs}:${process.env['PATH'] ?? ''}`
    await promisify(execFile)('sh', ['-ec', commands], {
      ...this.#account,
      cwd: this.folder,
      env: { PATH, ...environment },
    })
  }

  /** Writes an empty file that the servers' account owns. */
  touch(path: string): void {
    const file = join(this.folder, path)
    writeFileSync(file, '')
    if (this.#account !== undefined) chownSync(file, this.#account.uid, this.#account.gid)
  }
}
