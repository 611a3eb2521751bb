import { setTimeout as sleep } from 'node:timers/promises'
import pMap from 'p-map'
import type { Db } from '../../shared/db/connect.ts'
import { inOneState, inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { getLastPosition, lockLog } from '../event-log/read-log.ts'
import { StepReader, type ChunkSize } from '../event-log/step-reader.ts'
import { compareReadModels, type Comparison } from '../projections/compare-schemas.store.ts'
import { getFoldState } from '../projections/fold-state.store.ts'
import { NEXT_SCHEMA } from '../projections/projection.ts'
import {
  createNextSchema,
  dropOldSchema,
  dropNextSchema,
  hasNextSchema,
  leaveRoom,
  lockReadModel,
  makeIndex,
  missingIndexes,
  LONG_WAIT_MS,
  SHORT_WAIT_MS,
  switchSchemas,
  unlessRead,
} from '../projections/schemas.store.ts'
import { isAboutChannel } from '../projections/segments.evolve.ts'
import { project } from './project.ts'

export interface ReplayProgress {
  foldedPosition: number
  lastPosition: number
  /** The index that is being built: when almost all is folded, or before the first payment channel. */
  index?: string
}

export interface ReplayOptions {
  /** Discards the work of an interrupted replay instead of resuming it. */
  restart: boolean
  signal: AbortSignal
  onProgress: (progress: ReplayProgress) => void
}

/** A chunk is folded in one transaction. Two are held at once, and a log may be all junk of 128 KiB an entry. */
const MOST_BYTES = 32 * 1024 * 1024
const CHUNK: ChunkSize = { entries: 2_000, bytes: MOST_BYTES }
/** Each step is folded alone once there are payment channels, and an interruption waits for the whole chunk. */
const CHUNK_WITH_CHANNELS: ChunkSize = { entries: 500, bytes: MOST_BYTES }
/** Entries that may be left to fold while appends are blocked. */
const LITTLE = 500
/** Indexes that are built at the same time. */
const INDEXES_AT_ONCE = 2
/** Pauses between attempts to lock the old tables. */
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 5_000
const PATIENT_EVERY = 4

type Watching = Pick<ReplayOptions, 'signal' | 'onProgress'>

/**
 * Rebuilds the read model from the log alone, in its own schema, and switches to it in one step. Queries see the old
 * one until then, and never a half-built one. A replay interrupted by `signal` or a kill resumes where it stopped; one
 * of another version begins anew.
 * Returns false if it was interrupted. The caller must ensure that only one runs at a time.
 */
export async function replay(db: Db, { restart, ...watching }: ReplayOptions): Promise<boolean> {
  await beginNext(db, restart)
  for (let attempt = 1; ; attempt += 1) {
    if (!(await foldAlmostAll(db, watching))) return false
    if (await trySwitch(db, attempt)) break
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS)
    await sleep(pauseMs, undefined, { signal: watching.signal }).catch(() => undefined)
  }
  await dropOldSchema(db)
  return true
}

/**
 * Builds the next read model as {@link replay} does, and compares it with the one in use instead of switching. A replay
 * afterwards goes on with it. Returns null if it was interrupted.
 */
export async function compareReplay(
  db: Db,
  { restart, ...watching }: ReplayOptions,
): Promise<Comparison | null> {
  await beginNext(db, restart)
  if (!(await foldAlmostAll(db, watching))) return null
  let compared: Promise<Comparison> | undefined
  // Appends wait until both read models have the same entries and one snapshot sees that.
  await inTransaction(db, async (lock) => {
    const lastPosition = await lockLog(lock)
    await inTransaction(db, (trx) => foldRest(trx, lastPosition))
    await new Promise<void>((taken, fail) => {
      compared = inOneState(db, async (trx) => {
        await getFoldState(trx, NEXT_SCHEMA)
        taken()
        return compareReadModels(trx)
      })
      compared.catch(fail)
    })
  })
  return (await compared) ?? null
}

async function beginNext(db: Db, restart: boolean): Promise<void> {
  await dropOldSchema(db)
  if (!restart && (await hasNextSchema(db))) return
  await dropNextSchema(db)
  await createNextSchema(db)
}

/** Folds up to this position in the given transaction. */
async function foldRest(trx: Trx, lastPosition: number): Promise<void> {
  let { foldedPosition } = await getFoldState(trx, NEXT_SCHEMA)
  const reader = new StepReader(trx, foldedPosition)
  while (foldedPosition < lastPosition) {
    const entries = await reader.next(CHUNK_WITH_CHANNELS)
    await project(trx, NEXT_SCHEMA, foldedPosition, entries)
    foldedPosition = entries.at(-1)?.position ?? lastPosition
  }
}

/** Folds until little is left for the switch. Returns false if it was interrupted. */
async function foldAlmostAll(db: Db, watching: Watching): Promise<boolean> {
  for (let isIndexed = false; ; isIndexed = true) {
    const end = await foldChunks(db, { ...watching, isIndexed })
    if (end !== 'indexes are wanted') return end === 'little is left'
    if (!(await makeIndexes(db, watching))) return false
  }
}

/**
 * Folds chunk by chunk, and reads the next one while the database writes the previous one. The first payment channel
 * needs the indexes to find its loans. They are also wanted when little is left: the log grows while they are built.
 */
async function foldChunks(
  db: Db,
  { isIndexed, signal, onProgress }: Watching & { isIndexed: boolean },
): Promise<'little is left' | 'indexes are wanted' | 'interrupted'> {
  const state = await getFoldState(db, NEXT_SCHEMA)
  let { foldedPosition } = state
  let withChannels = state.channels > 0
  if (withChannels && !isIndexed) return 'indexes are wanted'
  const reader = new StepReader(db, foldedPosition)
  const read = (): ReturnType<StepReader['next']> => {
    const reading = reader.next(withChannels ? CHUNK_WITH_CHANNELS : CHUNK)
    // Prevents an unhandled rejection; awaiting `next` reports the failure.
    reading.catch(() => undefined)
    return reading
  }
  let next = read()
  try {
    while (!signal.aborted) {
      const entries = await next
      withChannels ||= entries.some(isAboutChannel)
      if (withChannels && !isIndexed) return 'indexes are wanted'
      next = read()
      const after = foldedPosition
      await inTransaction(db, (trx) => project(trx, NEXT_SCHEMA, after, entries))
      foldedPosition = entries.at(-1)?.position ?? after
      const lastPosition = await getLastPosition(db)
      onProgress({ foldedPosition, lastPosition })
      if (lastPosition - foldedPosition < LITTLE) return isIndexed ? 'little is left' : 'indexes are wanted'
    }
    return 'interrupted'
  } finally {
    // The read must not outlive this function.
    await next.catch(() => undefined)
  }
}

/**
 * Builds the missing indexes, and leaves room for later changes. Returns false if it was interrupted; finished indexes
 * stay.
 */
async function makeIndexes(db: Db, { signal, onProgress }: Watching): Promise<boolean> {
  await leaveRoom(db)
  const { foldedPosition } = await getFoldState(db, NEXT_SCHEMA)
  const make = async (index: string): Promise<void> => {
    if (signal.aborted) return
    onProgress({ foldedPosition, lastPosition: await getLastPosition(db), index })
    await makeIndex(db, index)
  }
  // If one fails, the others still finish: no statement may outlive this function.
  await pMap(await missingIndexes(db), make, { concurrency: INDEXES_AT_ONCE, stopOnError: false }).catch(
    (error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error
    },
  )
  return !signal.aborted
}

/**
 * A dump or an autovacuum may read the old read model for long. The tables are locked on their own first, so that the
 * writer does not wait as well. Some attempts wait long enough that Postgres ends an autovacuum.
 */
async function trySwitch(db: Db, attempt: number): Promise<boolean> {
  const waitMs = attempt % PATIENT_EVERY === 0 ? LONG_WAIT_MS : SHORT_WAIT_MS
  if (!(await unlessRead(db, (trx) => lockReadModel(trx, waitMs)))) return false
  return unlessRead(db, async (trx) => {
    await foldRest(trx, await lockLog(trx))
    await switchSchemas(trx)
  })
}
