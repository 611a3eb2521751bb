import type { RecordEvent } from '../../shared/events/record-event.ts'

/** Values of a record's fields, as searches have them; a record fits if each field that is given has one of its values. */
export type RecordFilter = Partial<
  Record<'loanId' | 'loanType' | 'event' | 'networkId', string[] | undefined>
>

/**
 * The changes of the records that fit, for a client that keeps them. A record that changed and does not fit may have fitted
 * before: it is told as retracted, which says nothing new to a client that did not have it.
 */
export function changesFor(filter: RecordFilter, events: readonly RecordEvent[]): RecordEvent[] {
  return events.flatMap((event) => {
    if (fits(filter, event)) return [event]
    return event.event === 'changed' ? [{ ...event, event: 'retracted' as const }] : []
  })
}

function fits(filter: RecordFilter, { record }: RecordEvent): boolean {
  return Object.entries(filter).every(
    ([field, values]) => values === undefined || values.some((value) => value === record[field]),
  )
}
