import { loadEnvironment, loadNetworks, requireDatabaseUrl } from '../../shared/config/config.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { findHolder, takeLease } from '../../shared/db/leases.ts'
import { findReadOnlyReason, inspectDatabase, requireOwnSessions } from '../../shared/db/inspect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { ConfigError } from '../../shared/errors.ts'
import { onStopRequest } from '../../shared/program.ts'
import { Pace } from './pace.ts'
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

/**
 * Runs a command against the database. Throws unless the schema has this version, and for a command that `writes` where
 * the database takes no writes.
 */
export async function withDatabase(
  work: (context: CommandContext) => Promise<void>,
  { writes = false }: { writes?: boolean } = {},
): Promise<void> {
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
    if (writes) await requireWrites(db)
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

/** Throws a one-line ConfigError on a replica, and where `default_transaction_read_only` is on. */
export async function requireWrites(db: Db): Promise<void> {
  const reason = await findReadOnlyReason(db)
  if (reason !== null) throw new ConfigError(`DATABASE_URL leads to ${reason}: name one that takes writes`)
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

/** Progress in units of work; `total` is null where nobody knows it. */
interface Work {
  done: number
  total: number | null
}

/**
 * Shows the progress of long work on standard error, so that standard output can be piped, with its rate and the time
 * left where `work` is given. A terminal line is rewritten.
 */
export function createProgress(): {
  show: (text: string, work?: Work | 'new item') => void
  end: () => void
} {
  const isTerminal = process.stderr.isTTY
  const pace = new Pace()
  let shownAtMs = -Infinity
  return {
    // A new item appears at once; continued work appears at intervals.
    show: (text, work) => {
      const intervalMs = isTerminal ? 200 : 5000
      const nowMs = performance.now()
      const rate = typeof work === 'object' ? pace.after(work.done, work.total, nowMs) : ''
      if (work !== 'new item' && nowMs - shownAtMs < intervalMs) return
      shownAtMs = nowMs
      const line = rate === '' ? text : `${text}, ${rate}`
      process.stderr.write(isTerminal ? `\r\u001b[2K${line}` : `${line}\n`)
    },
    end: () => {
      if (isTerminal && shownAtMs > 0) process.stderr.write('\n')
    },
  }
}
