import { isEvmEvent, isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type ChainEvent } from './chain-event.ts'

/**
 * What makes an event the same event in every branch and every reading, within its network. On an EVM chain: its
 * transaction, its position among the logs its contract wrote in that transaction, and its kind. On Filecoin a
 * message runs once: its CID and kind. Off-chain: the voucher's own key, however it came and whoever's letter case
 * its signature has.
 */
export function naturalKey(event: ChainEvent): string {
  if (isEvmEvent(event)) return `${event.txHash}/${event.role}/${event.txLogIndex}/${event.kind}`
  if (event.kind === 'SignedVoucher') return `${event.channel}/${event.voucher.key}/${event.signer}`
  return `${event.txHash}/${event.kind}`
}

/**
 * What an event tells about, as the projections key it: a loan (`<loan type>/<loan id>`) or a payment channel of the
 * network (`channel/<network id>/<robust address>`); null for what neither can be read from.
 */
export function subjectOf(event: ChainEvent, network: string): string | null {
  if (isEvmLoanEvent(event)) return `${LOAN_TYPE_OF_ROLE[event.role]}/${event.loanId}`
  if (isEvmEvent(event) || event.channel === null) return null
  return channelSubject(network, event.channel)
}

/** `network` is `filecoin:<id>` or the off-chain ledger beside it: what is signed for a channel is about that channel. */
export function channelSubject(network: string, robust: string): string {
  return `channel/${network.slice(network.indexOf(':') + 1)}/${robust}`
}
