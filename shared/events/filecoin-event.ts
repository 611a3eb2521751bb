/**
 * Normalized events of payment channels: one per executed message that concerns one, and one per voucher or statement
 * that was handed in. Facts of the protocol: docs/protocol.md, sections 3, 5 and 6. Addresses are text with the letter
 * of their network ('f' on mainnet, 't' elsewhere) and are compared without it. Amounts are attoFIL as decimal text;
 * epochs are heights of tipsets.
 */

import type { EventPlace, HexText, UintText } from './event-place.ts'

/** An address of any form, as text. */
export type FilecoinAddressText = string
/** A whole number that may be negative, as decimal text. */
export type IntText = string

/** An account or actor, with every name known as of the tipset after the message's. */
export interface FilecoinIdentity {
  /** The name that the message uses. */
  asWritten: FilecoinAddressText
  /** The ID address (`t0…`); null if no node knew it. It can change while the tipset is not final. */
  id: FilecoinAddressText | null
  /** Robust names (key, actor, delegated address): none, one or more. The first one is shown. */
  robust: FilecoinAddressText[]
}

/** The content of a voucher. Its bytes are in `text`; nothing here is needed to read them again. */
export interface VoucherFacts {
  /** blake2b-256 of the signed bytes, hex without 0x: two signatures of one voucher are one voucher. */
  key: string
  /** Standard base64 of the CBOR; null if it is too long to be kept. */
  text: string | null
  /** The channel as the voucher names it: by its ID or its robust address. */
  channelAddr: FilecoinAddressText
  /** Epochs; 0 as `timeLockMax` means no end. */
  timeLockMin: IntText
  timeLockMax: IntText
  /** 0x hex of any number of bytes; null if there are none. */
  secretHash: HexText | null
  lane: UintText
  nonce: UintText
  /** attoFIL, cumulative on its lane. */
  amount: IntText
  minSettleHeight: IntText
  /** Whether an extra call must succeed at the redemption. */
  hasExtra: boolean
  /** Number of lanes that it merges. */
  merges: number
}

/** An executed message: `txHash` is its CID, `blockHash` its tipset's key, `logIndex` its place in the execution. */
interface MessageBase extends EventPlace {
  /** The receiver as the message names it. */
  to: FilecoinAddressText
  /**
   * Robust address of the channel concerned. A source knows it only if the message contains it. Ingest finds it by the
   * channel's ID, and drops messages that concern no channel.
   */
  channel: FilecoinAddressText | null
}

export interface CreateChannelEvent extends MessageBase {
  kind: 'CreateChannel'
  channel: FilecoinAddressText
  /** The channel's ID address on this fork. */
  channelId: FilecoinAddressText
  /** The creator: anybody can open a channel in others' names. */
  sender: FilecoinIdentity
  /** The funder of the channel, and below it the recipient. */
  from: FilecoinIdentity
  recipient: FilecoinIdentity
  /** attoFIL at the creation. */
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
  /** The redeemer: the other party signed. */
  sender: FilecoinIdentity
  voucher: VoucherFacts
  /** 0x hex of the secret given with it; null if there is none. */
  secret: HexText | null
  /** attoFIL sent with the message. */
  value: UintText
}

export interface SettleChannelEvent extends MessageBase {
  kind: 'SettleChannel'
  sender: FilecoinIdentity
  /** First epoch at which the channel can be collected. */
  settlingAtEpoch: number
  /**
   * Source of that epoch: the channel's state after the message, or the rule (epoch + 1440, not before
   * minSettleHeight).
   */
  settlingAtFrom: 'state' | 'rule'
  /** Seconds per epoch on this network. */
  epochDurationS: number
  value: UintText
}

export interface CollectChannelEvent extends MessageBase {
  kind: 'CollectChannel'
  sender: FilecoinIdentity
}

/** A message to a channel that does not decode as its method requires. */
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

/** The way by which an item signed off-chain arrived. */
export type HandInWay = 'node-store' | 'queue' | 'import'

/**
 * No block contains what is signed off-chain: its place is all zeros and its `txHash` is its own text. The log keeps it
 * under the network's off-chain ledger (`offchainLedger`), which no reorg touches.
 */
interface HandedInBase extends EventPlace {
  channel: FilecoinAddressText
  /** The signer, proven before this became an event. */
  signer: FilecoinAddressText
  way: HandInWay
}

export interface SignedVoucherEvent extends HandedInBase {
  kind: 'SignedVoucher'
  voucher: VoucherFacts
}

/** A statement of the channel's maker about which loan the channel is for. */
export interface SignedStatementEvent extends HandedInBase {
  kind: 'SignedStatement'
  contractLoanId: UintText
  /** EIP-55. */
  contract: string
  /** The EVM chain's id as decimal text; null if the statement does not name it. */
  networkId: string | null
  /** 0x hex; null if the statement names none. */
  secretHash: HexText | null
  /** The text that was signed. */
  message: string
}

export type HandedInEvent = SignedVoucherEvent | SignedStatementEvent
export type FilecoinEvent = FilecoinMessageEvent | HandedInEvent
