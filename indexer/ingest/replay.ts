import { setTimeout as sleep } from 'node:timers/promises'
import { onOneConnection, type Db } from '../../shared/db/connect.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import { getLastPosition, lockLog } from '../event-log/read-log.ts'
import { StepReader } from '../event-log/step-reader.ts'
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
import { CHUNK_WITH_CHANNELS, LogChunks, type Chunk } from './log-chunks.ts'
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

/** What is left may be folded while nobody can append. */
const LITTLE = 500
/** Between attempts to take the old tables from their readers. */
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 5_000
const PATIENT_EVERY = 4
/** Of tables that are empty. */
const NOTHING_FOLDED = { foldedPosition: 0, channels: 0 }

/**
 * Builds the read model again from the log alone, in a schema of its own, and switches to it in one step: readers
 * see the old one until then, and never a half-built one. An interrupted replay (by `signal` or by a kill) goes on
 * where it was. Returns false when it was interrupted. The caller sees to it that only one runs at a time.
 */
export async function replay(db: Db, { restart, signal, onProgress }: ReplayOptions): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const isFirst = attempt === 1
    // With one connection to write by, and one to read by, two processes of Postgres do all of it: what such a process has not
    // touched yet costs it time.
    const end = await onOneConnection(db, (writer) =>
      foldAndSwitch({ db, writer }, { restart: restart && isFirst, attempt, signal, onProgress }),
    )
    if (end !== 'others read') return end === 'switched'
    // None is held meanwhile: one that is ended in this time is nobody's.
    await sleep(Math.min(FIRST_PAUSE_MS * 2 ** attempt, LAST_PAUSE_MS), undefined, { signal }).catch(
      () => undefined,
    )
  }
}

interface Connections {
  db: Db
  /** One of them, which writes all there is to write. */
  writer: Db
}

interface FoldOptions extends Pick<ReplayOptions, 'signal' | 'onProgress'> {
  /** The tables of a read model into which nothing was folded yet; undefined where they are there. */
  made: Promise<void> | undefined
}

async function makeTables(writer: Db): Promise<void> {
  await dropNextSchema(writer)
  await createNextSchema(writer)
}

async function foldAndSwitch(
  connections: Connections,
  { restart, attempt, signal, onProgress }: ReplayOptions & { attempt: number },
): Promise<'switched' | 'others read' | 'interrupted'> {
  const { writer } = connections
  await dropOldSchema(writer)
  const isNew = restart || !(await hasNextSchema(writer))
  const made = isNew ? makeTables(writer) : undefined
  // What fails of it is told when the first entries are read.
  made?.catch(() => undefined)
  try {
    if (!(await foldAlmostAll(connections, { made, signal, onProgress }))) return 'interrupted'
  } finally {
    // Nothing is under way when this has ended.
    await made?.catch(() => undefined)
  }
  if (!(await trySwitch(writer, attempt))) return 'others read'
  await dropOldSchema(writer)
  return 'switched'
}

/** Folds until little is left, which is folded while nobody can append. Returns false when it was interrupted. */
async function foldAlmostAll({ db, writer }: Connections, options: FoldOptions): Promise<boolean> {
  let { made } = options
  for (let isIndexed = false; ; isIndexed = true) {
    const end = await onOneConnection(db, (log) => foldChunks(writer, { ...options, log, isIndexed, made }))
    if (end !== 'indexes are wanted') return end === 'little is left'
    made = undefined
    const { foldedPosition: folded } = await getFoldState(writer, NEXT_SCHEMA)
    if (!(await makeIndexes({ db, writer }, { ...options, folded }))) return false
  }
}

/**
 * Folds chunk by chunk; the entries that come next are read from `log` while the database writes those before, and the first of all
 * while it makes the tables. Indexes are wanted before the first payment channel, which looks for its loans by what it says of them,
 * and when little is left: to make them takes a while, in which more is appended.
 */
async function foldChunks(
  writer: Db,
  { log, isIndexed, made, signal, onProgress }: FoldOptions & { log: Db; isIndexed: boolean },
): Promise<'little is left' | 'indexes are wanted' | 'interrupted'> {
  const { foldedPosition, channels } =
    made === undefined ? await getFoldState(writer, NEXT_SCHEMA) : NOTHING_FOLDED
  let folded = foldedPosition
  let withChannels = channels > 0
  if (withChannels && !isIndexed) return 'indexes are wanted'
  let chunks = new LogChunks(log, folded, withChannels)
  const read = (): Promise<Chunk> => {
    const reading = chunks.next()
    // Looked at when its turn comes, if it does.
    reading.catch(() => undefined)
    return reading
  }
  let next = read()
  await made
  while (!signal.aborted) {
    const { steps, lastPosition: last = folded, isAboutChannels } = await next
    if (isAboutChannels && !isIndexed) return 'indexes are wanted'
    if (isAboutChannels && !withChannels) {
      withChannels = true
      chunks = new LogChunks(log, folded, withChannels)
      next = read()
      continue
    }
    next = read()
    await inTransaction(writer, (trx) => project(trx, NEXT_SCHEMA, folded, steps))
    folded = last
    const lastPosition = await getLastPosition(writer)
    onProgress({ foldedPosition: folded, lastPosition })
    if (lastPosition - folded >= LITTLE) continue
    await next
    return isIndexed ? 'little is left' : 'indexes are wanted'
  }
  await next.catch(() => undefined)
  return 'interrupted'
}

/**
 * And room for what changes from here on. Returns false when it was interrupted: those that are there stay. Two are made at a time,
 * of small tables by as many processors of the database: the writer begins with those of the largest table, all pages of which it
 * has touched, and another connection with those of the smallest.
 */
async function makeIndexes(
  { db, writer }: Connections,
  { folded, signal, onProgress }: Pick<ReplayOptions, 'signal' | 'onProgress'> & { folded: number },
): Promise<boolean> {
  await leaveRoom(writer)
  const missing = await missingIndexes(writer)
  const makeSome = async (session: Db, next: () => string | undefined): Promise<void> => {
    for (let name = next(); name !== undefined && !signal.aborted; name = next()) {
      onProgress({ foldedPosition: folded, lastPosition: await getLastPosition(session), index: name })
      await makeIndex(session, name)
    }
  }
  const failures: unknown[] = []
  const orStop = (error: unknown): void => {
    failures.push(error)
    missing.length = 0
  }
  // Where one fails those that were begun are made to their end: nothing is under way when this has ended.
  await Promise.all([
    makeSome(writer, () => missing.shift()).catch(orStop),
    onOneConnection(db, (other) => makeSome(other, () => missing.pop())).catch(orStop),
  ])
  if (failures.length > 0) throw failures[0]
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
