/**
 * The normalized events, as a source reads them, a job carries them and the log keeps them: plain JSON, the same text
 * in all three. Integers of a contract (uint256) are decimal text, bytes are 0x hex in lower case, addresses are
 * EIP-55. Parameters of the contracts' events: docs/protocol.md, section 2.
 */

import type { AddressText, EventPlace, HexText, UintText } from './event-place.ts'
import type { FilecoinEvent } from './filecoin-event.ts'

export type { AddressText, EventPlace, HexText, UintText }

export type LoanType = 'ERC20FIL' | 'FILERC20'

/** The contract of a network that wrote a log. */
export type ContractRole = 'erc20Loans' | 'erc20CollateralLock'

/** The arguments of each event as its contract declares them, without `loanId`, which the event itself has. */
export interface EvmEventArgs {
  CreateLoanOffer: { lender: AddressText; principal: UintText; token: AddressText }
  ApproveRequest: {
    borrower: AddressText
    filBorrower: HexText
    secretHashA1: HexText
    paymentChannelId: HexText
    collateralAmount: UintText
  }
  Withdraw: { borrower: AddressText; amount: UintText; token: AddressText; secretA1: HexText }
  Payback: { borrower: AddressText; amount: UintText; token: AddressText }
  AcceptRepayment: { amount: UintText; token: AddressText; secretB1: HexText }
  RefundPayback: { borrower: AddressText; amount: UintText; token: AddressText }
  CancelLoan: { amount: UintText; token: AddressText; secretB1: HexText }
  CreateBorrowRequest: { borrower: AddressText; collateralAmount: UintText; token: AddressText }
  AcceptOffer: {
    lender: AddressText
    filLender: HexText
    secretHashB1: HexText
    paymentChannelId: HexText
    principalAmount: UintText
  }
  UnlockCollateral: { borrower: AddressText; collateralAmount: UintText; token: AddressText }
  SeizeCollateral: { lender: AddressText; amount: UintText; token: AddressText }
  UnlockRefundableCollateral: { borrower: AddressText; amount: UintText; token: AddressText }
  CancelBorrowRequest: {
    borrower: AddressText
    collateralAmount: UintText
    token: AddressText
    secretA1: HexText
  }
}

export type EvmEventKind = keyof EvmEventArgs

/** Values that an event lacks and the contract knows, read at the event's block or from the call itself. */
export interface EvmEventTerms {
  CreateLoanOffer: {
    secretHashB1: HexText
    filLender: HexText
    interest: UintText
    loanExpirationPeriod: UintText
  }
  ApproveRequest: { loanExpiration: UintText; acceptExpiration: UintText }
  Withdraw: NoTerms
  Payback: NoTerms
  AcceptRepayment: NoTerms
  RefundPayback: NoTerms
  CancelLoan: NoTerms
  CreateBorrowRequest: {
    secretHashA1: HexText
    filBorrower: HexText
    principalAmount: UintText
    interestRate: UintText
    loanExpirationPeriod: UintText
  }
  AcceptOffer: { loanExpiration: UintText; lockPrice: UintText }
  UnlockCollateral: { secretB1: HexText }
  SeizeCollateral: { liquidationPrice: UintText; secretA1: HexText }
  UnlockRefundableCollateral: NoTerms
  CancelBorrowRequest: NoTerms
}
type NoTerms = object

/** The value of each term of an event's kind, or null; `unknown` explains each null. */
export type Terms<K extends EvmEventKind> = {
  values: { [T in keyof EvmEventTerms[K]]: EvmEventTerms[K][T] | null }
  /** Maps the name of a term to the reason why its value is null. */
  unknown?: Record<string, string>
}

interface EvmEventBase extends EventPlace {
  contract: AddressText
  role: ContractRole
}

export type EvmLoanEvent = {
  [K in EvmEventKind]: EvmEventBase & {
    kind: K
    /** The contract's own id, decimal. */
    contractLoanId: UintText
    /** The loan's name in records and lookups: the contract's id, with the deployment's prefix if it has one. */
    loanId: string
    args: EvmEventArgs[K]
    terms: Terms<K>
    /** Decimals of the event's token; null if it has no usable `decimals()` or the event names no token. */
    tokenDecimals: number | null
  }
}[EvmEventKind]

/** A log of a watched contract that is none of its events, or does not decode as the one it claims to be. */
export interface UndecodableEvmEvent extends EvmEventBase {
  kind: 'Undecodable'
  reason: string
  topics: HexText[]
  /** The data's first bytes, so that a hostile log cannot fill the database. */
  dataHead: HexText
  dataBytes: number
}

export type EvmEvent = EvmLoanEvent | UndecodableEvmEvent
export type ChainEvent = EvmEvent | FilecoinEvent

/** Whether the event comes from a loan contract instead of a payment channel. */
export function isEvmEvent(event: ChainEvent): event is EvmEvent {
  return 'role' in event
}

/** Whether the event comes from a loan contract and could be decoded. */
export function isEvmLoanEvent(event: ChainEvent): event is EvmLoanEvent {
  return isEvmEvent(event) && event.kind !== 'Undecodable'
}

export const LOAN_TYPE_OF_ROLE: Record<ContractRole, LoanType> = {
  erc20Loans: 'ERC20FIL',
  erc20CollateralLock: 'FILERC20',
}

export const KINDS_OF_ROLE = {
  erc20Loans: [
    'CreateLoanOffer',
    'ApproveRequest',
    'Withdraw',
    'Payback',
    'AcceptRepayment',
    'RefundPayback',
    'CancelLoan',
  ],
  erc20CollateralLock: [
    'CreateBorrowRequest',
    'AcceptOffer',
    'UnlockCollateral',
    'SeizeCollateral',
    'UnlockRefundableCollateral',
    'CancelBorrowRequest',
  ],
} as const satisfies Record<ContractRole, readonly EvmEventKind[]>
