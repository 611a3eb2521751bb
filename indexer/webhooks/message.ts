import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Webhook } from '../../shared/config/webhooks.ts'
import type { LoanType } from '../../shared/events/chain-event.ts'
import type { RecordEvent } from '../../shared/events/record-event.ts'
import type { LoanAction } from '../../shared/loan-life/actions.ts'

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

/** As {@link isWanted}, for an action that ends soon; `events` names records, and it is none. */
export function isActionWanted(
  { loanTypes, networks }: Pick<Webhook, 'loanTypes' | 'networks'>,
  { loanType, action: { chain } }: { loanType: LoanType; action: Pick<LoanAction, 'chain'> },
): boolean {
  return isAmong(loanTypes, loanType) && isAmong(networks, chain)
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

/** An action that can no longer be taken soon. Its id follows from the deadline, so that each is sent once. */
export function messageOfAction(
  loan: { loanType: string; loanId: string },
  action: LoanAction,
  { position, at }: { position: number; at: Date },
): Message {
  const { action: name, actor, chain, notAfter } = action
  // The block of a time is an estimate, which changes with each block.
  const deadline = notAfter === null ? null : 'epoch' in notAfter ? notAfter.epoch : notAfter.time
  const key = JSON.stringify([loan.loanType, loan.loanId, name, actor, chain, deadline])
  return {
    id: `due-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`,
    body: JSON.stringify({
      type: 'action.due',
      timestamp: at.toISOString(),
      data: { loanType: loan.loanType, loanId: loan.loanId, ...action, position },
    }),
  }
}

const dueSchema = z.object({
  type: z.literal('action.due'),
  data: z.object({ notAfter: z.object({ time: z.string() }) }),
})

/** Whether it is about an action whose last moment has passed. */
export function hasExpired({ body }: Pick<Message, 'body'>, nowMs: number): boolean {
  const due = dueSchema.safeParse(JSON.parse(body))
  return due.success && Date.parse(due.data.data.notAfter.time) < nowMs
}
