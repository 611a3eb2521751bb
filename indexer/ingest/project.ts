import type { LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { getHeldEntriesOf } from '../event-log/read-log.ts'
import { activityProjection } from '../projections/activity/activity.store.ts'
import { getFoldState, putFoldState } from '../projections/fold-state.store.ts'
import { channelsProjection } from '../projections/channels/channels.store.ts'
import { loansProjection } from '../projections/loans/loans.store.ts'
import type { Projection, ProjectionSchema } from '../projections/projection.ts'
import { segmentsOf } from '../projections/segments.evolve.ts'

/** All read models, in the order in which they are folded: channels are tied to loans that are up to date. */
const PROJECTIONS: Projection[] = [activityProjection, loansProjection, channelsProjection]

/**
 * Folds whole steps of the log into the read model of `schema`, which must stand at the position `after`: entries
 * left out would make a read model of a log that never was, and are an error.
 */
export async function project(
  trx: Trx,
  schema: ProjectionSchema,
  after: number,
  entries: LogEntry[],
): Promise<void> {
  if (entries.length === 0) return
  const state = await getFoldState(trx, schema)
  if (state.foldedPosition !== after) {
    throw new Error(
      `${schema} is folded up to entry ${state.foldedPosition} and not ${after}: run \`ops replay\``,
    )
  }
  for (const segment of segmentsOf(entries, state.channels > 0)) {
    const last = segment.at(-1)
    if (last === undefined) continue
    const context = {
      trx,
      schema,
      counters: state,
      heldEntriesOf: (subjects: string[]) => getHeldEntriesOf(trx, subjects, last.position),
    }
    for (const projection of PROJECTIONS) await projection.apply(context, segment)
    state.foldedPosition = last.position
  }
  await putFoldState(trx, schema, state)
}
