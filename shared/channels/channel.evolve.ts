import { isEvmEvent, type ChainEvent } from '../events/chain-event.ts'
import { compareByChain, type PlaceInChain } from '../events/event-place.ts'
import type { LogEntry } from '../events/log-entry.ts'
import type {
  CreateChannelEvent,
  FilecoinIdentity,
  FilecoinMessageEvent,
  HandedInEvent,
  SignedStatementEvent,
  UpdateChannelEvent,
  VoucherFacts,
} from '../events/filecoin-event.ts'
import { naturalKey } from '../events/natural-key.ts'
import { canonicalAddress } from '../filecoin/address.ts'
import {
  isSameParty,
  namesOf,
  type Channel,
  type KnownVoucher,
  type Party,
  type Redemption,
} from './channel.ts'

export { namesOf } from './channel.ts'
export type { Channel, KnownVoucher, Party, Redemption } from './channel.ts'

/** Applies one more entry: first all chain entries in chain order, then those handed in. */
export function evolveChannel(channel: Channel | undefined, entry: LogEntry): Channel | undefined {
  const { event } = entry
  if (event === null || isEvmEvent(event)) return channel
  if (event.kind === 'CreateChannel') {
    return {
      robust: event.channel,
      channelId: event.channelId,
      key: naturalKey(event),
      cid: event.txHash,
      createdEpoch: event.blockNumber,
      createdTimeS: event.blockTimeS,
      sender: event.sender,
      from: event.from,
      recipient: event.recipient,
      value: event.value,
      deposits: event.value,
      vouchers: [],
      redemptions: [],
      settlement: null,
      collection: null,
      statements: [],
      lastEpoch: event.blockNumber,
      lastIndex: event.logIndex,
    }
  }
  // A voucher or statement for a missing channel stays in the log until the creation arrives.
  if (channel === undefined) return undefined
  if (isHandedIn(event)) return evolveBySigned(channel, event)
  return {
    ...evolveByMessage(channel, naturalKey(event), event),
    lastEpoch: event.blockNumber,
    lastIndex: event.logIndex,
  }
}

/**
 * Whether these entries can be folded onto the stored channel: all are appends, and its messages follow those already
 * folded. Entries signed off-chain have no place in that order.
 */
export function continuesChannel(channel: Channel, entries: readonly LogEntry[]): boolean {
  let last: PlaceInChain = { blockNumber: channel.lastEpoch, logIndex: channel.lastIndex }
  return entries.every(({ op, event, previousSubject }) => {
    if (op !== 'append' || previousSubject !== null || event.kind === 'CreateChannel') return false
    if (isHandedIn(event)) return true
    const isBehind = compareByChain(last, event) < 0
    last = event
    return isBehind
  })
}

function isHandedIn(event: ChainEvent): event is HandedInEvent {
  return event.kind === 'SignedVoucher' || event.kind === 'SignedStatement'
}

function evolveBySigned(channel: Channel, event: HandedInEvent): Channel {
  return event.kind === 'SignedVoucher'
    ? sign(channel, event.voucher, partyNamed(channel, event.signer))
    : state(channel, event)
}

function evolveByMessage(
  channel: Channel,
  key: string,
  event: Exclude<FilecoinMessageEvent, CreateChannelEvent>,
): Channel {
  switch (event.kind) {
    case 'FundChannel':
      return deposit(channel, event.value)
    case 'UpdateChannel':
      return redeem(deposit(channel, event.value), key, event)
    case 'SettleChannel':
      return deposit(
        {
          ...channel,
          settlement: {
            key,
            cid: event.txHash,
            settlingAtEpoch: Math.max(event.settlingAtEpoch, ...minSettleHeights(channel)),
            epoch: event.blockNumber,
            timeS: event.blockTimeS,
            epochDurationS: event.epochDurationS,
            after: channel.redemptions.length,
          },
        },
        event.value,
      )
    case 'CollectChannel':
      return {
        ...channel,
        collection: {
          key,
          cid: event.txHash,
          epoch: event.blockNumber,
          after: channel.redemptions.length,
        },
      }
    case 'UndecodableMessage':
      return channel
    default:
      return event satisfies never
  }
}

/** Folds all of a channel's entries; undefined if its creation is not among them. */
export function foldChannel(entries: readonly LogEntry[]): Channel | undefined {
  return entries.reduce<Channel | undefined>(evolveChannel, undefined)
}

function deposit(channel: Channel, value: string): Channel {
  return value === '0'
    ? channel
    : { ...channel, deposits: (BigInt(channel.deposits) + BigInt(value)).toString() }
}

/** The chain accepted the voucher, so the party that did not send the message signed it. */
function redeem(channel: Channel, key: string, event: UpdateChannelEvent): Channel {
  const signedBy = otherPartyThan(channel, event.sender)
  const { txHash: cid, blockNumber: epoch, voucher: facts, secret } = event
  const redeemed = {
    ...channel,
    redemptions: [...channel.redemptions, { key, cid, epoch, facts, signedBy, secret }],
  }
  return signRedeemed(bringForward(redeemed, facts), facts, signedBy)
}

/** If no node had the state after a settle, its epoch follows from the rule alone, without these heights. */
function minSettleHeights({ redemptions }: Channel): number[] {
  return redemptions.map(({ facts }) => Number(facts.minSettleHeight))
}

/** The actor settles no earlier than a redeemed voucher's minSettleHeight. */
function bringForward(channel: Channel, { minSettleHeight }: VoucherFacts): Channel {
  const { settlement } = channel
  const epoch = Number(minSettleHeight)
  if (settlement === null || epoch <= settlement.settlingAtEpoch) return channel
  return { ...channel, settlement: { ...settlement, settlingAtEpoch: epoch } }
}

function otherPartyThan(channel: Channel, sender: FilecoinIdentity): Party | null {
  if (isSameParty(sender, channel.from)) return 'recipient'
  return isSameParty(sender, channel.recipient) ? 'from' : null
}

function partyNamed(channel: Channel, signer: string): Party | null {
  const name = canonicalAddress(signer)
  if (name === null) return null
  if (namesOf(channel.from).includes(name)) return 'from'
  return namesOf(channel.recipient).includes(name) ? 'recipient' : null
}

/**
 * A voucher that arrives twice counts once, with the signature that the chain accepted, if any. A signer that is
 * neither party signed for another channel with this address.
 */
function sign(channel: Channel, facts: VoucherFacts, signedBy: Party | null): Channel {
  if (signedBy === null || !names(channel, facts)) return channel
  const voucher = { facts, signedBy }
  const known = channel.vouchers.some((other) => isSame(other, voucher))
  const isTaken = channel.redemptions.some((redeemed) => isOfSameSlot(redeemed, voucher))
  return known || isTaken ? channel : { ...channel, vouchers: [...channel.vouchers, voucher] }
}

/** Replaces the same voucher if it was handed in, and drops the others of its slot, whichever came first. */
function signRedeemed(channel: Channel, facts: VoucherFacts, signedBy: Party | null): Channel {
  if (signedBy === null || !names(channel, facts)) return channel
  const voucher = { facts, signedBy }
  const isKnown = channel.vouchers.some((other) => isSame(other, voucher))
  const vouchers = channel.vouchers.flatMap((other) => {
    if (isSame(other, voucher)) return [voucher]
    return isOfSameSlot(other, voucher) ? [] : [other]
  })
  return { ...channel, vouchers: isKnown ? vouchers : [...vouchers, voucher] }
}

function isSame(a: KnownVoucher, b: KnownVoucher): boolean {
  return a.facts.key === b.facts.key && a.signedBy === b.signedBy
}

/** The actor accepts only one voucher per party, lane and nonce. */
function isOfSameSlot(a: Pick<Redemption, 'facts' | 'signedBy'>, b: KnownVoucher): boolean {
  return a.signedBy === b.signedBy && a.facts.lane === b.facts.lane && a.facts.nonce === b.facts.nonce
}

/** An ID address may belong to another channel on this fork. */
function names(channel: Channel, { channelAddr }: VoucherFacts): boolean {
  const named = canonicalAddress(channelAddr)
  return named === canonicalAddress(channel.robust) || named === canonicalAddress(channel.channelId)
}

function state(channel: Channel, event: SignedStatementEvent): Channel {
  if (partyNamed(channel, event.signer) !== 'from') return channel
  const { contract, contractLoanId, networkId } = event
  return { ...channel, statements: [...channel.statements, { contract, contractLoanId, networkId }] }
}
