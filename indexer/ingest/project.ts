import type { HeldEntry, LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { getHeldEntriesOf } from '../event-log/read-log.ts'
import { activityProjection } from '../projections/activity/activity.store.ts'
import { getFoldState, putFoldState } from '../projections/fold-state.store.ts'
import { channelsProjection } from '../projections/channels/channels.store.ts'
import { loansProjection } from '../projections/loans/loans.store.ts'
import type { Projection, ProjectionSchema } from '../projections/projection.ts'
import { segmentsOf } from '../projections/segments.evolve.ts'

/**
 * All read models in the order of folding. Channels come last: they need current loans, and their records join the
 * history.
 */
const PROJECTIONS: Projection[] = [activityProjection, loansProjection, channelsProjection]

/**
 * Folds whole steps, already written to the log, into the read model of `schema`. Throws unless that stands at position
 * `after`: it must not skip entries.
 */
export async function project(
  trx: Trx,
  schema: ProjectionSchema,
  after: number,
  steps: LogEntry[],
): Promise<void> {
  if (steps.length === 0) return
  const state = await getFoldState(trx, schema)
  if (state.foldedPosition !== after) {
    throw new Error(
      `${schema} is folded up to entry ${state.foldedPosition} and not ${after}: run \`ops replay\``,
    )
  }
  for (const segment of segmentsOf(steps, state.channels > 0)) {
    const lastPosition = segment.at(-1)?.position
    if (lastPosition === undefined) throw new Error('a segment has entries')
    const heldEntriesOf = (subjects: string[]): Promise<HeldEntry[]> =>
      getHeldEntriesOf(trx, subjects, lastPosition)
    for (const projection of PROJECTIONS) {
      await projection.apply({ trx, schema, counters: state, position: lastPosition, heldEntriesOf }, segment)
    }
    state.foldedPosition = lastPosition
  }
  await putFoldState(trx, schema, state)
}
