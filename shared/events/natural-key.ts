import { isEvmEvent, isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type ChainEvent } from './chain-event.ts'

/**
 * Identifies an event within its network, alike on every fork and in every reading. EVM: its transaction, its position
 * among its contract's logs in that transaction, and its kind. Filecoin: its CID and kind, because a message runs once.
 * Off-chain: the voucher's own key, whichever way it came and whatever letter case its signature has.
 */
export function naturalKey(event: ChainEvent): string {
  if (isEvmEvent(event)) return `${event.txHash}/${event.role}/${event.txLogIndex}/${event.kind}`
  if (event.kind === 'SignedVoucher') return `${event.channel}/${event.voucher.key}/${event.signer}`
  return `${event.txHash}/${event.kind}`
}

/**
 * The subject of an event, as the projections key it: a loan (`<loan type>/<loan id>`) or a payment channel
 * (`channel/<network id>/<robust address>`). Null if neither can be read from it.
 */
export function subjectOf(event: ChainEvent, network: string): string | null {
  if (isEvmLoanEvent(event)) return `${LOAN_TYPE_OF_ROLE[event.role]}/${event.loanId}`
  if (isEvmEvent(event) || event.channel === null) return null
  return channelSubject(network, event.channel)
}

/** `network` is `filecoin:<id>` or its off-chain ledger: items signed for a channel have that channel's subject. */
export function channelSubject(network: string, robust: string): string {
  return `channel/${networkIdOf(network)}/${robust}`
}

/**
 * The id in a network's key, which is `<ledger kind>:<id>`, or `<ledger kind>:<id>:<idPrefix>` for a chain's further
 * deployments.
 */
export function networkIdOf(network: string): string {
  return network.split(':')[1] ?? ''
}

/** The key under which the log keeps items handed in for a Filecoin network (`filecoin:<id>`). */
export function offchainLedger(network: string): string {
  return `offchain:${networkIdOf(network)}`
}
