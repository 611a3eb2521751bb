import type pg from 'pg'
import type { Statement } from './statement.ts'

/** A transaction in which every statement sees the same moment. */
export interface Snapshot {
  rows: <Row extends object>(statement: Statement, values?: unknown[]) => Promise<Row[]>
  /** Frees the connection, once a running statement has ended. Never rejects. */
  close: () => Promise<void>
}

/**
 * Takes a connection until the snapshot is closed. `begin` begins the transaction; `isPrepared` is false where a pooler
 * gives sessions to others.
 */
export async function openSnapshot(
  pool: pg.Pool,
  { begin, isPrepared }: { begin: string; isPrepared: boolean },
): Promise<Snapshot> {
  const client = await pool.connect()
  // The process would end without a listener when the server closes a connection that waits for its reader.
  const ignore = (): void => undefined
  client.on('error', ignore)
  const release = (isBroken: boolean): void => {
    client.off('error', ignore)
    client.release(isBroken)
  }
  try {
    await client.query(begin)
  } catch (error) {
    release(true)
    throw error
  }
  let closed: Promise<void> | undefined
  return {
    rows: async <Row extends object>({ name, text }: Statement, values: unknown[] = []) =>
      (await client.query<Row>(isPrepared ? { name, text, values } : { text, values })).rows,
    close: () =>
      (closed ??= client.query('commit').then(
        () => release(false),
        () => release(true),
      )),
  }
}
