import { execFile, execFileSync, fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as z from 'zod'
import { digestReadModel } from '../indexer/projections/digest.store.ts'
import type { Db } from '../shared/db/connect.ts'
import { scriptFlags } from '../test/helpers/script-flags.ts'
import { freePort } from '../test/helpers/free-port.ts'
import type { Databases } from './services.ts'
import { CHAIN_ID } from './synthetic-evm/synthetic-chain.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const WITHIN_MS = 600_000

/** One of the service's compiled programs, in a process of its own. */
export interface Program {
  readonly pid: number
  /** Throws when the program has ended, because figures without it mean nothing. */
  requireAlive: () => void
  /** Ends it in order. */
  stop: () => Promise<void>
  /** Ends it at once, like a crash. */
  kill: () => Promise<void>
}

/** Bundles the present sources, as `npm run build` does after its type check. */
export function buildPrograms(): void {
  execFileSync(process.execPath, ['.config/build.mjs'], { cwd: ROOT, stdio: 'inherit' })
}

/**
 * Prepares indexers of one or several EVM networks, started one after the other with the same settings. Callers
 * `remove` it at the end.
 */
export function prepareIndexer(
  databases: Databases,
  network: object | readonly object[],
  nodeFlags: string[] = [],
  role = 'all',
): Promise<PreparedIndexer> {
  return prepareIndexerOf(databases, { evm: [network].flat() }, nodeFlags, role)
}

export interface PreparedIndexer {
  /** Where it serves its metrics. */
  url: string
  start: () => Program
  remove: () => Promise<void>
}

/** Prepares indexers of all networks in such a networks file. */
async function prepareIndexerOf(
  { databaseUrl, redisUrl }: Databases,
  networks: NetworksFile,
  nodeFlags: string[] = [],
  role = 'all',
): Promise<PreparedIndexer> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-'))
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(networks))
  const port = await freePort()
  const env = {
    ...{ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl ?? '', NETWORKS_FILE: networksFile },
    ...{ INDEXER_PORT: String(port), LOG_LEVEL: 'warn', INDEXER_ROLE: role },
  }
  return {
    url: `http://127.0.0.1:${port}`,
    start: () => startProgram('indexer', [], { env, execArgv: [...scriptFlags('indexer'), ...nodeFlags] }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Runs an indexer of one EVM network during `work`. */
export function withIndexer<T>(
  databases: Databases,
  network: object,
  work: (indexer: Program) => Promise<T>,
  nodeFlags: string[] = [],
): Promise<T> {
  return withIndexerOf(databases, { evm: [network] }, work, nodeFlags)
}

export interface NetworksFile {
  evm?: readonly object[]
  filecoin?: readonly object[]
}

/** Runs an indexer of these networks during `work`. */
export async function withIndexerOf<T>(
  databases: Databases,
  networks: NetworksFile,
  work: (indexer: Program) => Promise<T>,
  nodeFlags: string[] = [],
): Promise<T> {
  const { start, remove } = await prepareIndexerOf(databases, networks, nodeFlags)
  const indexer = start()
  try {
    return await work(indexer)
  } finally {
    await indexer.stop()
    await remove()
  }
}

/** Runs the API at `url` during `work`. */
export async function withApi<T>(
  { databaseUrl }: Pick<Databases, 'databaseUrl'>,
  work: (url: string, api: Program) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> {
  const port = await freePort()
  const env = { DATABASE_URL: databaseUrl, API_PORT: String(port), LOG_LEVEL: 'warn', ...settings }
  const api = startProgram('api', [], { env, execArgv: scriptFlags('api') })
  const url = `http://127.0.0.1:${port}`
  try {
    while (!(await fetch(`${url}/healthz`).catch(() => null))?.ok) {
      api.requireAlive()
      await delay(20)
    }
    return await work(url, api)
  } finally {
    await api.stop()
  }
}

const replayedSchema = z.object({ digest: z.string(), seconds: z.number() })

/**
 * Rebuilds the read model from the log, like an operator; returns the seconds that it reports. Throws when the result
 * differs from the previous read model.
 */
export async function replaySeconds({ databaseUrl, db }: Databases): Promise<number> {
  // Cleanup after the backfill is no part of the measurement: autovacuum might run during it, two seconds of both
  // cores.
  await sql`vacuum (analyze)`.execute(db)
  const before = await digestReadModel(db)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--enable-source-maps',
      ...scriptFlags('ops'),
      join(ROOT, 'dist/indexer/cli/main.js'),
      'replay',
      '--json',
    ],
    { env: { ...process.env, DATABASE_URL: databaseUrl } },
  )
  const { digest, seconds } = replayedSchema.parse(JSON.parse(stdout))
  if (digest !== before.digest) throw new Error('the replay gave another digest: no figure')
  return seconds
}

/** Returns the seconds that node takes to load all modules of the indexer and exit. */
export async function bareStartSeconds(): Promise<number> {
  const startedMs = performance.now()
  const program = startProgram('indexer', ['--help'], {
    execArgv: scriptFlags('indexer'),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await program.ended
  return (performance.now() - startedMs) / 1000
}

/**
 * Waits until the EVM network's stored position is the wanted one. Throws when the indexer ends, or after a long time.
 */
export function untilWritten(
  db: Db,
  indexer: Pick<Program, 'requireAlive'>,
  isThere: (position: Position) => boolean,
  lookEveryMs = 20,
  chainId = CHAIN_ID,
): Promise<Position> {
  return untilPosition(db, indexer, `evm:${chainId}`, isThere, lookEveryMs)
}

/** Waits for the position of any network, by its key. */
export async function untilPosition(
  db: Db,
  indexer: Pick<Program, 'requireAlive'>,
  network: string,
  isThere: (position: Position) => boolean,
  lookEveryMs: number,
): Promise<Position> {
  const deadline = performance.now() + WITHIN_MS
  for (;;) {
    const position = await db
      .selectFrom('ledger.chain_position')
      .select(['number', 'writer_epoch as epoch', 'reader_epoch as readerEpoch'])
      .where('network', '=', network)
      .executeTakeFirst()
    if (position !== undefined && isThere(position)) return position
    indexer.requireAlive()
    if (performance.now() > deadline) throw new Error(`nothing came of it within ${WITHIN_MS} ms`)
    await delay(lookEveryMs)
  }
}

/** A network's stored position. */
export interface Position {
  /** The last written block. */
  number: number | null
  /** Numbers of writers and of readers that the network has had. */
  epoch: number
  readerEpoch: number
}

function startProgram(
  name: 'indexer' | 'api',
  args: string[],
  { env, ...options }: ForkOptions,
): Program & { ended: Promise<unknown> } {
  const child: ChildProcess = fork(join(ROOT, `dist/${name}/main.js`), args, {
    // The log goes to standard error; standard output has only the figures.
    stdio: ['ignore', 2, 2, 'ipc'],
    ...options,
    env: { ...process.env, ...env },
  })
  const ended = once(child, 'exit')
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (hasEnded()) return
    child.kill(signal)
    await ended
  }
  return {
    ended,
    pid: child.pid ?? 0,
    requireAlive: () => {
      if (hasEnded()) throw new Error(`the ${name} ended with code ${child.exitCode ?? 'none'}`)
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}
