/**
 * What happens on a payment channel, normalized: one event per executed message that concerns one, and one per
 * voucher or statement that was signed off-chain and handed in. Facts of the protocol: docs/protocol.md,
 * sections 3, 5 and 6. Addresses are text with the letter of their network ('f' on mainnet, 't'
 * elsewhere) and are compared without it; amounts are attoFIL as decimal text; epochs are heights of tipsets.
 */

import type { EventPlace, HexText, UintText } from './event-place.ts'

/** An address of any form, as text. */
export type FilecoinAddressText = string
/** A whole number that may be negative, as decimal text. */
export type IntText = string

/** Somebody, by every name that was known of them as of the tipset after the message's. */
export interface FilecoinIdentity {
  /** As the message names them. */
  asWritten: FilecoinAddressText
  /** The ID address (`t0…`); null when no node could tell. It can change while the tipset is not final. */
  id: FilecoinAddressText | null
  /** Robust names (key, actor, delegated address): none, one or more; the one to show first. */
  robust: FilecoinAddressText[]
}

/** What a voucher says. Its bytes are in `text`; nothing here is needed to read them again. */
export interface VoucherFacts {
  /** blake2b-256 of the bytes that are signed, hex without 0x: two signatures of one voucher are one voucher. */
  key: string
  /** Standard base64 of the CBOR; null when it is too long to be kept. */
  text: string | null
  /** The channel as the voucher names it: by its ID or its robust address. */
  channelAddr: FilecoinAddressText
  /** Epochs; 0 as `timeLockMax` means no end. */
  timeLockMin: IntText
  timeLockMax: IntText
  /** 0x hex of whatever bytes are there; null when there are none. */
  secretHash: HexText | null
  lane: UintText
  nonce: UintText
  /** attoFIL, cumulative on its lane. */
  amount: IntText
  minSettleHeight: IntText
  /** An extra call must succeed when it is redeemed. */
  hasExtra: boolean
  /** How many lanes it merges. */
  merges: number
}

/** An executed message: `txHash` is its CID, `blockHash` its tipset's key, `logIndex` its place in the execution. */
interface MessageBase extends EventPlace {
  /** The receiver as the message names it. */
  to: FilecoinAddressText
  /**
   * Robust address of the channel that this concerns. A source knows it only where the message says it; whoever
   * writes the log finds it by the channel's ID, and drops what concerns no channel.
   */
  channel: FilecoinAddressText | null
}

export interface CreateChannelEvent extends MessageBase {
  kind: 'CreateChannel'
  channel: FilecoinAddressText
  /** The channel's ID address in this branch. */
  channelId: FilecoinAddressText
  /** Who made it: anybody can open a channel in others' names. */
  sender: FilecoinIdentity
  /** Whose funds are in it, and for whom. */
  from: FilecoinIdentity
  recipient: FilecoinIdentity
  /** attoFIL that the channel was made with. */
  value: UintText
  codeCid: string
}

export interface FundChannelEvent extends MessageBase {
  kind: 'FundChannel'
  sender: FilecoinIdentity
  /** attoFIL added. */
  value: UintText
}

export interface UpdateChannelEvent extends MessageBase {
  kind: 'UpdateChannel'
  /** Who redeems: the other party signed. */
  sender: FilecoinIdentity
  voucher: VoucherFacts
  /** 0x hex of the secret given with it; null when there is none. */
  secret: HexText | null
  /** attoFIL that came with the message. */
  value: UintText
}

export interface SettleChannelEvent extends MessageBase {
  kind: 'SettleChannel'
  sender: FilecoinIdentity
  /** From this epoch on the channel can be collected. */
  settlingAtEpoch: number
  /** Where that was read: the channel's state after the message, or the rule (epoch + 1440, not before minSettleHeight). */
  settlingAtFrom: 'state' | 'rule'
  /** Seconds per epoch on this network. */
  epochDurationS: number
  value: UintText
}

export interface CollectChannelEvent extends MessageBase {
  kind: 'CollectChannel'
  sender: FilecoinIdentity
}

/** A message to a channel that does not decode as what its method says. */
export interface UndecodableMessageEvent extends MessageBase {
  kind: 'UndecodableMessage'
  method: UintText
  reason: string
  /** The parameters' first bytes, so that a hostile message cannot fill the database. */
  paramsHead: HexText
  paramsBytes: number
}

export type FilecoinMessageEvent =
  | CreateChannelEvent
  | FundChannelEvent
  | UpdateChannelEvent
  | SettleChannelEvent
  | CollectChannelEvent
  | UndecodableMessageEvent

/** How something that was signed off-chain came to us. */
export type HandInWay = 'node-store' | 'queue' | 'import'

/**
 * What was signed off-chain stands in no block: its place is all zeros, its `txHash` is its own text, and it is
 * kept under the network's off-chain ledger ({@link offchainLedger}), which no reorg touches.
 */
interface HandedInBase extends EventPlace {
  channel: FilecoinAddressText
  /** Whose signature it bears: proven, before it became an event. */
  signer: FilecoinAddressText
  way: HandInWay
}

export interface SignedVoucherEvent extends HandedInBase {
  kind: 'SignedVoucher'
  voucher: VoucherFacts
}

/** The channel's maker says which loan it is for. */
export interface SignedStatementEvent extends HandedInBase {
  kind: 'SignedStatement'
  contractLoanId: UintText
  /** EIP-55. */
  contract: string
  /** The EVM chain's id as decimal text; null when the statement does not name it. */
  networkId: string | null
  /** 0x hex; null when the statement names none. */
  secretHash: HexText | null
  /** The text that was signed. */
  message: string
}

export type HandedInEvent = SignedVoucherEvent | SignedStatementEvent
export type FilecoinEvent = FilecoinMessageEvent | HandedInEvent

/** The key under which the log keeps what was handed in for a Filecoin network (`filecoin:<id>`). */
export function offchainLedger(network: string): string {
  return `offchain:${network.slice(network.indexOf(':') + 1)}`
}
