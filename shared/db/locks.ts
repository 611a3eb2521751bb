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

/**
 * Tries to take a lock that lives as long as its own connection: Postgres frees it when this process dies.
 * Undefined when somebody else holds it.
 */
export async function tryAdvisoryLock(url: string, name: string): Promise<HeldLock | undefined> {
  const client = await connectSession(url, `loan-activity lock ${name}`)
  const lost = new Promise<void>((resolve) => {
    client.on('end', () => resolve())
    client.on('error', () => resolve())
  })
  try {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      advisoryKey(name),
    ])
    if (rows[0]?.taken === true) return { lost, release: () => client.end() }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  await client.end()
  return undefined
}
