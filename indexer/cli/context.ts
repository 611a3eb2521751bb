import { loadEnvironment, loadNetworks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { findHolder, takeLease } from '../../shared/db/leases.ts'
import { inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { ConfigError } from '../../shared/errors.ts'
import { onStopRequest } from '../../shared/program.ts'
import { openNetworks, type WatchedNetwork } from '../watched-networks.ts'

/** Shared by all of the operator's commands. */
export interface CommandContext {
  db: Db
  databaseUrl: string
  /**
   * Aborts on Ctrl-C: long work stops at the next safe place and says how to go on. A command that never asks for it has
   * nothing to finish: Ctrl-C ends it at once.
   */
  readonly signal: AbortSignal
}

export interface OutputOptions {
  json?: boolean
}

/** Runs a command against the database, whose schema must be this version's. */
export async function withDatabase(work: (context: CommandContext) => Promise<void>): Promise<void> {
  const databaseUrl = requireDatabaseUrl(loadEnvironment())
  const stopping = new AbortController()
  let isHeeded = false
  onStopRequest((reason) => {
    if (isHeeded) return stopping.abort(reason)
    console.error(`ops: interrupted (${reason})`)
    process.exit(1)
  })
  requireOwnSessions(await inspectDatabase(databaseUrl, 'DATABASE_URL'))
  const db = connect(databaseUrl, { name: 'loan-activity ops', max: 4, session: ANYWHERE })
  try {
    await requireKnownSchema(db)
    await work({
      db,
      databaseUrl,
      get signal() {
        isHeeded = true
        return stopping.signal
      },
    })
  } finally {
    await db.destroy()
  }
}

/** Runs `work` while no other process runs the same operation. */
export async function exclusively<T>(
  { db, databaseUrl }: Pick<CommandContext, 'db' | 'databaseUrl'>,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const lease = await takeLease(databaseUrl, `operation ${name}`)
  if (lease === undefined) {
    const holder = (await findHolder(db, `operation ${name}`)) ?? 'it has just ended'
    throw new Error(`another ${name} is running on this database (${holder}): wait for it to end`)
  }
  try {
    return await work()
  } finally {
    await lease.release()
  }
}

/** The configured networks, or the one that `key` names; their sources are checked and closed in the end. */
export async function withNetworks<T>(
  key: string | undefined,
  work: (networks: WatchedNetwork[]) => Promise<T>,
): Promise<T> {
  const all = openNetworks(loadNetworks(loadEnvironment().NETWORKS_FILE), (network, message) => {
    console.error(`${network}: ${message}`)
  })
  const chosen = key === undefined ? all : all.filter(({ network }) => network === key)
  try {
    if (chosen.length === 0) {
      throw new ConfigError(
        `no network ${key ?? ''} is configured; there are: ${all.map(({ network }) => network).join(', ')}`,
      )
    }
    for (const { source } of chosen) await source.check()
    return await work(chosen)
  } finally {
    await Promise.allSettled(all.map(({ source }) => source.close()))
  }
}

/** The message for a network of which the index holds no block. */
export function neverIndexed(network: string): string {
  return `${network} was never indexed: start the indexer first`
}

/** Progress of long work, on standard error so that the answer can be piped: a line that is rewritten on a terminal. */
export function createProgress(): { show: (text: string, isNew?: boolean) => void; end: () => void } {
  const isTerminal = process.stderr.isTTY
  let shownAtMs = -Infinity
  return {
    // Something new is shown at once, what only goes on now and then.
    show: (text, isNew = false) => {
      const intervalMs = isTerminal ? 200 : 5000
      if (!isNew && performance.now() - shownAtMs < intervalMs) return
      shownAtMs = performance.now()
      process.stderr.write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`)
    },
    end: () => {
      if (isTerminal && shownAtMs > 0) process.stderr.write('\n')
    },
  }
}
