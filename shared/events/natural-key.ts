import { LOAN_TYPE_OF_ROLE, type ChainEvent } from './chain-event.ts'

/**
 * What makes an event the same event in every branch and every reading, within its network: its transaction, its
 * position among the logs its contract wrote in that transaction, and its kind.
 */
export function naturalKey(event: ChainEvent): string {
  return `${event.txHash}/${event.role}/${event.txLogIndex}/${event.kind}`
}

/** The loan that an event tells about, as the projections key it; null for what no loan can be read from. */
export function subjectOf(event: ChainEvent): string | null {
  return event.kind === 'Undecodable' ? null : `${LOAN_TYPE_OF_ROLE[event.role]}/${event.loanId}`
}
