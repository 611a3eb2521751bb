import { setTimeout as sleep } from 'node:timers/promises'
import pMap from 'p-map'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import { getLastPosition, lockLog } from '../event-log/read-log.ts'
import { StepReader, type ChunkSize } from '../event-log/step-reader.ts'
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
  /** The index that is being made, when all but a little is folded or the first payment channel comes. */
  index?: string
}

export interface ReplayOptions {
  /** Throws away what an interrupted replay has built, instead of going on with it. */
  restart: boolean
  signal: AbortSignal
  onProgress: (progress: ReplayProgress) => void
}

/** A chunk is folded in one transaction. Two are held at once, and a log may be all junk of 128 KiB an entry. */
const MOST_BYTES = 32 * 1024 * 1024
const CHUNK: ChunkSize = { entries: 2_000, bytes: MOST_BYTES }
/** With payment channels each step is folded by itself, and an interruption waits for the chunk. */
const CHUNK_WITH_CHANNELS: ChunkSize = { entries: 500, bytes: MOST_BYTES }
/** What is left may be folded while nobody can append. */
const LITTLE = 500
/** Indexes that are made side by side. */
const INDEXES_AT_ONCE = 2
/** Between attempts to take the old tables from their readers. */
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 5_000
const PATIENT_EVERY = 4

type Watching = Pick<ReplayOptions, 'signal' | 'onProgress'>

/**
 * Builds the read model again from the log alone, in a schema of its own, and switches to it in one step: readers
 * see the old one until then, and never a half-built one. An interrupted replay (by `signal` or by a kill) goes on
 * where it was. Returns false when it was interrupted. The caller sees to it that only one runs at a time.
 */
export async function replay(db: Db, { restart, ...watching }: ReplayOptions): Promise<boolean> {
  await dropOldSchema(db)
  if (restart || !(await hasNextSchema(db))) {
    await dropNextSchema(db)
    await createNextSchema(db)
  }
  for (let attempt = 1; ; attempt += 1) {
    if (!(await foldAlmostAll(db, watching))) return false
    if (await trySwitch(db, attempt)) break
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS)
    await sleep(pauseMs, undefined, { signal: watching.signal }).catch(() => undefined)
  }
  await dropOldSchema(db)
  return true
}

/** Folds until little is left, which is folded while nobody can append. Returns false when it was interrupted. */
async function foldAlmostAll(db: Db, watching: Watching): Promise<boolean> {
  for (let isIndexed = false; ; isIndexed = true) {
    const end = await foldChunks(db, { ...watching, isIndexed })
    if (end !== 'indexes are wanted') return end === 'little is left'
    if (!(await makeIndexes(db, watching))) return false
  }
}

/**
 * Folds chunk by chunk; the next one is read while the database writes the one before. Indexes are wanted before the first payment
 * channel, which looks for its loans by them, and when little is left: more is appended while they are made.
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
    // Its failure is reported when its turn comes.
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
    // Nothing is under way when this has ended.
    await next.catch(() => undefined)
  }
}

/** And room for what changes from here on. Returns false when it was interrupted: the indexes that are there stay. */
async function makeIndexes(db: Db, { signal, onProgress }: Watching): Promise<boolean> {
  await leaveRoom(db)
  const { foldedPosition } = await getFoldState(db, NEXT_SCHEMA)
  const make = async (index: string): Promise<void> => {
    if (signal.aborted) return
    onProgress({ foldedPosition, lastPosition: await getLastPosition(db), index })
    await makeIndex(db, index)
  }
  // When one fails, the others are made to their end: nothing is under way when this has ended.
  await pMap(await missingIndexes(db), make, { concurrency: INDEXES_AT_ONCE, stopOnError: false }).catch(
    (error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error
    },
  )
  return !signal.aborted
}

/**
 * Somebody may read the old read model for long (a dump, an autovacuum). The tables are tried for by themselves first, so
 * that the writer does not wait as well; and now and then for long enough that an autovacuum gives way.
 */
async function trySwitch(db: Db, attempt: number): Promise<boolean> {
  const waitMs = attempt % PATIENT_EVERY === 0 ? LONG_WAIT_MS : SHORT_WAIT_MS
  if (!(await unlessRead(db, (trx) => lockReadModel(trx, waitMs)))) return false
  return unlessRead(db, async (trx) => {
    const lastPosition = await lockLog(trx)
    let { foldedPosition } = await getFoldState(trx, NEXT_SCHEMA)
    const reader = new StepReader(trx, foldedPosition)
    while (foldedPosition < lastPosition) {
      const entries = await reader.next(CHUNK_WITH_CHANNELS)
      await project(trx, NEXT_SCHEMA, foldedPosition, entries)
      foldedPosition = entries.at(-1)?.position ?? lastPosition
    }
    await switchSchemas(trx)
  })
}
