import type { Projection } from '../projection.ts'
import { groupBySubject, isAboutChannel } from '../segments.evolve.ts'
import { changesOf } from './loan-changes.store.ts'
import { getLoans, writeChanges } from './loan-rows.store.ts'

/** The contract's half of every loan. */
export const loansProjection: Projection = {
  name: 'loans',
  apply: async (context, segment) => {
    const entriesOf = groupBySubject(segment.filter((entry) => !isAboutChannel(entry)))
    const subjects = [...entriesOf.keys()]
    const stored = await getLoans(context, subjects)
    await writeChanges(context, await changesOf(context, entriesOf, stored))
  },
}
