import * as z from 'zod'
import { parseEventId } from '../../shared/events/record-event.ts'
import { searchQuery } from './activity.ts'

const eventId = (name: string, description: string) =>
  z
    .string()
    .meta({ description, examples: ['282'] })
    .transform((text, context) => {
      const place = parseEventId(text)
      if (place !== undefined) return place
      context.addIssue({ code: 'custom', message: `${name} must be the id of an event, or 0` })
      return z.NEVER
    })
    .optional()

/** The header of a browser that connects again; it has precedence over the parameter. */
export const streamHeaders = z.looseObject({
  'last-event-id': eventId(
    'Last-Event-ID',
    'The id of the last event that was received; 0 for all from the beginning',
  ),
})

const { loanId, loanType, event, networkId } = searchQuery.shape

export const streamQuery = z.strictObject({
  ...{ loanId, loanType, event, networkId },
  lastEventId: eventId(
    'lastEventId',
    'As the header `Last-Event-ID`, which a browser cannot set on its first connection: the id of the last event that was received; 0 for all from the beginning; unset for all from now on',
  ),
})

const RECORD_EVENT = `retry: 2000
id: 281

event: finality
data: {"network":"evm:31337","networkId":"31337","block":80,"hash":"0x3f5c…","recordsBefore":270000000}

id: 282
event: record
data: {"id":282000000,"txHash":"0x004b…","event":"AcceptOffer","loanId":"18","blockchain":"DEVNET","networkId":"31337","contractAddress":"0x5FC8d32690cc91D4c39d9d3abcBD16989F875707","loanType":"FILERC20","createdAt":"2026-11-21T17:48:47.640Z","updatedAt":"2026-11-21T17:48:47.640Z","network":"evm:31337","position":282}

`

const DESCRIPTION = `Server-sent events. \`record\`: a new record; \`changed\`: a record says other than before;
\`retracted\`: a record is gone. Each has the record's ten fields, its \`network\` and its \`position\` in the log.
\`finality\`: no reorg takes away records of this \`network\` with an id below \`recordsBefore\`.`

/** A JSON schema: events are text. */
export const streamAnswer = {
  description: DESCRIPTION.replaceAll('\n', ' '),
  content: { 'text/event-stream': { schema: { type: 'string' }, example: RECORD_EVENT } },
}
