import type { LogEntry } from '../../shared/events/log-entry.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { getHeldEntriesOf } from '../event-log/read-log.ts'
import { activityProjection } from '../projections/activity/activity.store.ts'
import { getFoldState, putFoldState } from '../projections/fold-state.store.ts'
import { loansProjection } from '../projections/loans/loans.store.ts'
import type { Projection, ProjectionSchema } from '../projections/projection.ts'
import { segmentsOf } from '../projections/segments.evolve.ts'

/** All read models, in the order in which they are folded. */
const PROJECTIONS: Projection[] = [activityProjection, loansProjection]

/**
 * Folds whole steps of the log into the read model of `schema`. They must be the ones that follow what was folded
 * before: a gap would be a read model of a log that never was, and is an error.
 */
export async function project(trx: Trx, schema: ProjectionSchema, entries: LogEntry[]): Promise<void> {
  if (entries.length === 0) return
  const state = await getFoldState(trx, schema)
  for (const segment of segmentsOf(entries)) {
    const first = segment[0]?.position
    const last = segment.at(-1)?.position
    if (first !== state.foldedPosition + 1 || last === undefined) {
      throw new Error(
        `${schema} is folded up to ${state.foldedPosition}, entry ${first ?? '?'} does not follow`,
      )
    }
    const context = {
      trx,
      schema,
      counters: state,
      heldEntriesOf: (subjects: string[]) => getHeldEntriesOf(trx, subjects, last),
    }
    for (const projection of PROJECTIONS) await projection.apply(context, segment)
    state.foldedPosition = last
  }
  await putFoldState(trx, schema, state)
}
