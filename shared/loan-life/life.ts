import type { Channel, Party } from '../channels/channel.ts'
import type { ChannelRole, SecretHashes } from '../channels/voucher-use.ts'
import type { LoanType } from '../events/chain-event.ts'
import type { Clock } from './times.ts'

/** (pure) A loan as one statement read it: everything from which its step, actions and problems follow. */

export type Actor = 'borrower' | 'lender'

export interface LinkedChannel {
  network: string
  role: ChannelRole
  /** The channel that the lookup shows in this role; others fit the loan as well, but less. */
  shown: boolean
  /** The `state` of its lookup part. */
  state: string
  channel: Channel
}

export interface LoanLife extends SecretHashes {
  loanType: LoanType
  /** The contract's network. */
  network: string
  /** The state that the lookup shows: '0.5' while the Filecoin side is ahead. */
  state: string
  contractState: string
  /** EVM addresses; null if unknown. */
  borrower: string | null
  lender: string | null
  /** The parties' Filecoin addresses on the contract, canonical; null if unreadable. */
  filBorrower: string | null
  filLender: string | null
  /** 0x hex; null while secret. Cut after the bytes that a channel takes. */
  secretA1: string | null
  secretB1: string | null
  /** Unix seconds. */
  loanExpirationS: bigint | null
  acceptExpirationS: bigint | null
  /** attoFIL. */
  collateralAttoFil: bigint | null
  principalAttoFil: bigint | null
  /** A fraction with 18 decimals. */
  interestRate: bigint | null
  /** bytes32 as on the contract, and the canonical address in it; null if there is none. */
  paymentChannelId: string | null
  namedChannel: string | null
  isBeginningKnown: boolean
  /** Those shown come first. */
  channels: LinkedChannel[]
  /** The last indexed block or tipset of every network. */
  clocks: Clock[]
}

/** The channel that the lookup shows in this role. */
export function shownChannel(life: LoanLife, role: ChannelRole): LinkedChannel | undefined {
  return life.channels.find((channel) => channel.shown && channel.role === role)
}

export function clockOf(life: LoanLife, network: string): Clock | undefined {
  return life.clocks.find((clock) => clock.network === network)
}

/** The loan's party behind a channel's. The borrower funds collateral and payback, the lender the principal. */
export function actorOf(role: ChannelRole, party: Party): Actor {
  const funder = role === 'principal' ? 'lender' : 'borrower'
  return party === 'from' ? funder : otherActor(funder)
}

export function partyOf(role: ChannelRole, actor: Actor): Party {
  return actorOf(role, 'from') === actor ? 'from' : 'recipient'
}

export function otherParty(party: Party): Party {
  return party === 'from' ? 'recipient' : 'from'
}

function otherActor(actor: Actor): Actor {
  return actor === 'borrower' ? 'lender' : 'borrower'
}

/** Its funds return to their funder: settled or collected without a redemption. */
export function isGivenUp({ settlement, collection, redemptions }: Channel): boolean {
  return (settlement !== null || collection !== null) && redemptions.length === 0
}
