import type { Webhook } from '../../shared/config/webhooks.ts'
import type { RecordEvent } from '../../shared/events/record-event.ts'

/** One message of the Standard Webhooks specification (https://www.standardwebhooks.com). */
export interface Message {
  id: string
  body: string
}

const TYPES = { record: 'record.made', changed: 'record.changed', retracted: 'record.retracted' }

/** Whether a webhook wants a change of the history. */
export function isWanted({ events, loanTypes, networks }: Webhook, { record }: RecordEvent): boolean {
  return (
    isAmong(events, record['event']) &&
    isAmong(loanTypes, record['loanType']) &&
    isAmong(networks, record['network'])
  )
}

function isAmong(wanted: readonly string[] | undefined, value: unknown): boolean {
  return wanted === undefined || wanted.some((one) => one === value)
}

/** `recordedAt` is the time of the log entry that brought the change. */
export function messageOfEvent({ id, position, event, record }: RecordEvent, recordedAt: Date): Message {
  const timestamp = recordedAt.toISOString()
  return {
    // The signed text joins id, time and body with full stops, so that an id has none.
    id: id.replace('.', '-'),
    body: JSON.stringify({ type: TYPES[event], timestamp, data: { ...record, position } }),
  }
}
