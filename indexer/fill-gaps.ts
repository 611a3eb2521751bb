import { pause } from '../shared/async/pause.ts'
import type { Db } from '../shared/db/connect.ts'
import { messageOf } from '../shared/errors.ts'
import type { Logger } from '../shared/log.ts'
import { Repeats } from '../shared/repeats.ts'
import type { ChainPosition } from './event-log/chain-position.ts'
import { getGaps } from './event-log/range-evidence.store.ts'
import { ingestReading } from './ingest/ingest-reading.ts'
import { readAgain } from './read-again.ts'
import type { ChainSource } from './sources/chain-source.ts'
import { sameJson, type WatchedNetwork } from './watched-networks.ts'
import { findWritten } from './written-position.ts'

interface GapRun {
  watched: Pick<WatchedNetwork, 'network' | 'blockchain' | 'watched'> & { source: ChainSource }
  db: Db
  log: Logger
  signal: AbortSignal
}

/** Shorter than the five minutes after which LoanActivityMissingBlocks fires. */
const LOOK_AGAIN_MS = 30_000

/**
 * Reads blocks that are not recorded as read, beside a network's reader, until `signal` aborts. A reader leaves no such
 * gap; a restored or edited database can have one. Missing entries are appended like those of a reindex. Never rejects:
 * it logs a failure and tries again.
 */
export async function fillGaps(run: GapRun): Promise<void> {
  const { watched, db, log, signal } = run
  const { network } = watched
  const failures = new Repeats({ write: (line) => log.warn({ network }, line) })
  const attempt = async (task: () => Promise<void>): Promise<void> => {
    try {
      await task()
    } catch (error) {
      if (!isAborted(signal)) failures.note(`reading blocks that are missing: ${messageOf(error)}`)
    }
  }
  while (!signal.aborted) {
    await attempt(async () => {
      // A gap that no endpoint can read must not keep the others open.
      for (const gap of await getGaps(db, network)) await attempt(() => fillGap(run, gap))
    })
    await pause(LOOK_AGAIN_MS, signal)
  }
}

async function fillGap(
  { watched, db, log, signal }: GapRun,
  gap: { from: number; to: number },
): Promise<void> {
  const { network, source } = watched
  const isFit = (position: ChainPosition): boolean => sameJson(position.watched, watched.watched)
  const position = await findWritten(db, network)
  if (position === undefined || !isFit(position) || isAborted(signal)) return
  const found = { appended: 0, replaced: 0, retracted: 0 }
  let read = gap.from - 1
  for await (const reading of readAgain(source, { ...gap, final: position.final }, signal)) {
    const corrections = await ingestReading(db, watched, null, reading, isFit)
    if (corrections === undefined) break
    for (const key of ['appended', 'replaced', 'retracted'] as const) found[key] += corrections[key]
    read = reading.last.number
  }
  if (read < gap.from) return
  const { appended, replaced, retracted } = found
  log.warn(
    { network, from: gap.from, to: read },
    `read blocks ${gap.from} to ${read}, which were not recorded as read: ${appended} entries were missing, ${replaced} different, ${retracted} foreign`,
  )
}

/** Works around TypeScript's narrowing of `signal.aborted`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}
