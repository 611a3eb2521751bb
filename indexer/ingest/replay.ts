import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { getEntriesAfter, getLastPosition, lockLog } from '../event-log/read-log.ts'
import { getFoldState } from '../projections/fold-state.store.ts'
import { NEXT_SCHEMA } from '../projections/projection.ts'
import {
  betweenReaders,
  createNextSchema,
  dropOldSchema,
  dropNextSchema,
  hasNextSchema,
  switchSchemas,
} from '../projections/schemas.store.ts'
import { project } from './project.ts'

export interface ReplayProgress {
  foldedPosition: number
  lastPosition: number
}

export interface ReplayOptions {
  /** Throws away what an interrupted replay has built, instead of going on with it. */
  restart: boolean
  signal: AbortSignal
  onProgress: (progress: ReplayProgress) => void
}

/** Entries folded in one transaction: what an interruption can cost. */
const CHUNK = 2000

/**
 * Builds the read model again from the log alone, in a schema of its own, and switches to it in one step: readers
 * see the old one until then, and never a half-built one. An interrupted replay (by `signal` or by a kill) goes on
 * where it was. Returns false when it was interrupted. The caller sees to it that only one runs at a time.
 */
export async function replay(db: Db, { restart, signal, onProgress }: ReplayOptions): Promise<boolean> {
  await dropOldSchema(db)
  if (restart) await dropNextSchema(db)
  if (!(await hasNextSchema(db))) await createNextSchema(db)
  for (;;) {
    if (signal.aborted) return false
    const folded = await inTransaction(db, foldChunk)
    const lastPosition = await getLastPosition(db)
    onProgress({ foldedPosition: folded, lastPosition })
    // What is left is folded while nobody can append.
    if (lastPosition - folded < CHUNK) break
  }
  await betweenReaders(db, async (trx) => {
    const lastPosition = await lockLog(trx)
    while ((await foldChunk(trx)) < lastPosition);
    await switchSchemas(trx)
  })
  await dropOldSchema(db)
  return true
}

async function foldChunk(trx: Trx): Promise<number> {
  const { foldedPosition } = await getFoldState(trx, NEXT_SCHEMA)
  const entries = await getEntriesAfter(trx, foldedPosition, CHUNK)
  await project(trx, NEXT_SCHEMA, foldedPosition, entries)
  return entries.at(-1)?.position ?? foldedPosition
}
