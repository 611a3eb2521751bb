import { loadEnvironment, loadNetworks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { findHolder, takeLease } from '../../shared/db/leases.ts'
import { inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { ConfigError } from '../../shared/errors.ts'
import { onStopRequest } from '../../shared/program.ts'
import { openNetworks, type WatchedNetwork } from '../watched-networks.ts'

export interface CommandContext {
  db: Db
  databaseUrl: string
  /**
   * Aborts on Ctrl-C; long work then stops at the next safe place and prints how to continue. Ctrl-C ends at once a
   * command that never reads this property.
   */
  readonly signal: AbortSignal
}

export interface OutputOptions {
  json?: boolean
}

/** Prints a result as JSON where that is asked for, else as text. */
export function print({ json }: OutputOptions, result: unknown, text: string): void {
  console.log(json === true ? JSON.stringify(result) : text)
}

/** Runs a command against the database. Throws unless the schema has this version. */
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

/** Runs `work` while no other process runs the same operation. Throws when one does. */
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

/**
 * Opens the configured networks, or only the one named `key`. Checks their sources before `work` and closes them
 * afterwards.
 */
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

export function neverIndexed(network: string): string {
  return `${network} was never indexed: start the indexer first`
}

/**
 * Shows the progress of long work on standard error, so that standard output can be piped. A terminal line is
 * rewritten.
 */
export function createProgress(): { show: (text: string, isNew?: boolean) => void; end: () => void } {
  const isTerminal = process.stderr.isTTY
  let shownAtMs = -Infinity
  return {
    // A new item appears at once; continued work appears at intervals.
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
