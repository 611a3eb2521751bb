import { eventId, type Cursor, type RecordEvent } from '../../shared/events/record-event.ts'
import type { Finality } from '../queries/record-events.ts'

/** Server-sent events as text: https://html.spec.whatwg.org/multipage/server-sent-events.html */

/** Milliseconds after which a browser connects again. */
const RETRY_MS = 2000

/** A comment: it shows both sides that the connection lives, and a client ignores it. */
export const HEARTBEAT = Buffer.from(':\n\n')

/** Sets the id from which a client resumes that has received no event yet. */
export function openingText(at: Cursor): Buffer {
  return Buffer.from(`retry: ${RETRY_MS}\nid: ${eventId(at)}\n\n`)
}

/** Changes up to a place, and its id where it is beyond the last of them. */
export function recordsText(events: readonly RecordEvent[], next: Cursor): Buffer {
  const texts = events.map(({ id, position, event, record }) => {
    return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify({ ...record, position })}\n\n`
  })
  if (events.at(-1)?.id !== eventId(next)) texts.push(`id: ${eventId(next)}\n\n`)
  return Buffer.from(texts.join(''))
}

/** These events have no id: a client that resumes is told the present finality. */
export function finalityText(final: readonly Finality[]): Buffer {
  return Buffer.from(final.map((network) => `event: finality\ndata: ${JSON.stringify(network)}\n\n`).join(''))
}
