import { setImmediate as nextTurn } from 'node:timers/promises'
import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import { overlapping, type Trx } from '../../shared/db/transaction.ts'
import { getHeldEntriesOf } from '../event-log/read-log.ts'
import { activityProjection } from '../projections/activity/activity.store.ts'
import { getFoldState, putFoldState, type FoldState } from '../projections/fold-state.store.ts'
import { channelsProjection } from '../projections/channels/channels.store.ts'
import { loansProjection } from '../projections/loans/loans.store.ts'
import type { Projection, ProjectionSchema } from '../projections/projection.ts'
import { segmentsOf } from '../projections/segments.evolve.ts'

/**
 * All read models, in the order in which they are folded: channels are tied to loans that are up to date, and their records
 * take their places among those of the history. Those of one group are folded side by side: they share no table.
 */
const PROJECTIONS: Projection[][] = [[activityProjection, loansProjection], [channelsProjection]]

/**
 * Folds whole steps of the log into the read model of `schema`, which must stand at the position `after`: entries
 * left out would make a read model of a log that never was, and are an error. Entries that the log does not hold yet are
 * written by `writeLog`, which is called when the fold has asked for what it is to change: Postgres answers while their rows
 * are made, and the changes are made while it writes them. `reading` is where the read model stands, where that was asked
 * for before.
 */
export async function project(
  trx: Trx,
  schema: ProjectionSchema,
  after: number,
  entries: LogEntry[],
  writeLog: () => Promise<void> = () => Promise.resolve(),
  reading: Promise<FoldState> = getFoldState(trx, schema),
): Promise<void> {
  const state = await reading
  if (entries.length === 0) return
  if (state.foldedPosition !== after) {
    throw new Error(
      `${schema} is folded up to entry ${state.foldedPosition} and not ${after}: run \`ops replay\``,
    )
  }
  let written: Promise<void> | undefined
  for (const segment of segmentsOf(entries, state.channels > 0)) {
    const last = segment.at(-1)
    if (last === undefined) continue
    // The log holds what comes before the segment: of the segment itself it is told.
    const heldEntriesOf = (subjects: string[]): Promise<HeldEntry[]> =>
      getHeldEntriesOf(trx, subjects, last.position, segment)
    const context = { trx, schema, counters: state, heldEntriesOf }
    for (const projections of PROJECTIONS) {
      const applied = projections.map((projection) => projection.apply(context, segment))
      // What they asked for is on its way when the first of the log's many rows is made.
      written ??= nextTurn().then(writeLog)
      await overlapping([written, ...applied])
    }
    state.foldedPosition = last.position
  }
  await putFoldState(trx, schema, state)
}
