import { createHash } from 'node:crypto'
import { connectSession } from './connect.ts'

/** A 64-bit key for Postgres' advisory locks, as decimal text. */
function advisoryKey(name: string): string {
  return createHash('sha256').update(`loan-activity/${name}`).digest().readBigInt64BE().toString()
}

export interface HeldLock {
  /** Settles when the lock is gone: released, or lost with its connection. */
  readonly lost: Promise<void>
  release(): Promise<void>
}

/** A holder that is silent for so long (frozen, or its machine gone) has lost its lock. */
const LEASE_MS = 15_000
const BEATS_PER_LEASE = 5

/**
 * Tries to take a lock that lives as long as its own connection: Postgres frees it when this process dies, and ends
 * the connection when this process says nothing for `leaseMs`. Undefined when somebody else holds it.
 */
export async function tryAdvisoryLock(
  url: string,
  name: string,
  { leaseMs = LEASE_MS } = {},
): Promise<HeldLock | undefined> {
  const client = await connectSession(url, `loan-activity lock ${name}`)
  const lost = new Promise<void>((resolve) => {
    client.on('end', () => resolve())
    client.on('error', () => resolve())
  })
  try {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      advisoryKey(name),
    ])
    if (rows[0]?.taken === true) {
      await client.query(`set idle_session_timeout = ${leaseMs}`)
      const beat = setInterval(() => {
        // A connection that does not answer ends, and `lost` tells it.
        client.query('select 1').catch(() => undefined)
      }, leaseMs / BEATS_PER_LEASE)
      void lost.then(() => clearInterval(beat))
      return { lost, release: () => client.end() }
    }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  await client.end()
  return undefined
}
