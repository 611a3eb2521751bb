import type { FilecoinIdentity, VoucherFacts } from '../events/filecoin-event.ts'
import { canonicalAddress } from '../filecoin/address.ts'

/**
 * (pure) A payment channel as the read model stores it: the indexer folds it from the log, and the API tells from it
 * what the channel's parties can do.
 */

/** The `from` party funds the channel, and the `recipient` is paid from it. */
export type Party = 'from' | 'recipient'

/** A voucher known to be signed, from its redemption or handed in. */
export interface KnownVoucher {
  facts: VoucherFacts
  signedBy: Party
}

export interface Redemption {
  /** Natural key of its event, CID and epoch of its message. */
  key: string
  cid: string
  epoch: number
  facts: VoucherFacts
  /** Null if the sender is neither known party: the signer is then undetermined. */
  signedBy: Party | null
  secret: string | null
}

export interface Settlement {
  key: string
  cid: string
  /** First epoch at which the channel can be collected. */
  settlingAtEpoch: number
  /** Epoch and Unix time (seconds) of the message, and seconds per epoch on this network. */
  epoch: number
  timeS: number
  epochDurationS: number
  /** Number of redemptions before the settlement. */
  after: number
}

export interface Collection {
  key: string
  cid: string
  /** Epoch of the message. */
  epoch: number
  /** Number of redemptions before the collection. */
  after: number
}

export interface Statement {
  contract: string
  contractLoanId: string
  networkId: string | null
}

/** A payment channel folded from the log, stored as plain JSON. Addresses carry their network's letter. */
export interface Channel {
  robust: string
  channelId: string
  /** Natural key of the creation event, and CID of its message. */
  key: string
  cid: string
  createdEpoch: number
  /** Unix seconds. */
  createdTimeS: number
  /** The creator, which need not be one of the parties. */
  sender: FilecoinIdentity
  from: FilecoinIdentity
  recipient: FilecoinIdentity
  /** attoFIL at creation, and all attoFIL ever deposited; decimal text. */
  value: string
  deposits: string
  /**
   * Vouchers that were or can be redeemed, in the order they became known. A fold of all entries puts redeemed ones
   * before handed-in ones.
   */
  vouchers: KnownVoucher[]
  redemptions: Redemption[]
  settlement: Settlement | null
  collection: Collection | null
  statements: Statement[]
  /** Place of the channel's last message: tipset height, and index in the execution. */
  lastEpoch: number
  lastIndex: number
}

/** All names of an identity in canonical form. */
export function namesOf({ asWritten, id, robust }: FilecoinIdentity): string[] {
  const names = [asWritten, ...(id === null ? [] : [id]), ...robust].flatMap(
    (name) => canonicalAddress(name) ?? [],
  )
  return [...new Set(names)]
}

export function isSameParty(a: FilecoinIdentity, b: FilecoinIdentity): boolean {
  const names = new Set(namesOf(a))
  return namesOf(b).some((name) => names.has(name))
}
