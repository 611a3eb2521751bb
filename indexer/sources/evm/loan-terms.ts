import type { EvmEventKind, EvmEventTerms, Terms } from '../../../shared/events/chain-event.ts'
import type { DecodedEvent } from './decode-log.ts'
import { functionLayout } from './contracts.ts'
import { decodeDirectCall, type LoanState, type TransactionInput } from './decode-loan.ts'
import type { Fields } from './decode-abi.ts'
import { STATE_AFTER } from './loan-states.ts'
import { storableText } from '../rpc/foreign-text.ts'

/**
 * Sources of the terms that events do not carry. `fetchLoan` shows the loan at the END of the event's block. An amount
 * that a later transition in that block may have changed comes from the transaction's input instead. It is unknown when
 * the transaction is no direct call.
 */
export interface TermSources {
  /** Loan after the event's block, or the reason why it is unknown. */
  loan: LoanState | string
  /** Transaction of the event, or the reason why it is unknown; null when it was not needed. */
  transaction: TransactionInput | string | null
}

export type EventWithTerms = Extract<
  { [K in EvmEventKind]: Extract<DecodedEvent, { kind: K }> & { terms: Terms<K> } }[EvmEventKind],
  { kind: EvmEventKind }
>

/** Kinds whose events carry everything that is recorded. */
type CompleteKind = { [K in EvmEventKind]: keyof EvmEventTerms[K] extends never ? K : never }[EvmEventKind]
type IncompleteKind = Exclude<EvmEventKind, CompleteKind>
type IncompleteEvent = Extract<DecodedEvent, { kind: IncompleteKind }>

type CallName = Parameters<typeof decodeDirectCall>[2]

/** A value, or the reason why there is none. */
type Found = { value: string } | { why: string }

/** Reads a term from the loan's state, unless a later transition may have changed it there. */
type Shown = (loan: LoanState, name: string) => Found

/**
 * The contract, the function whose direct call emits the event, and the terms in the order of the log. A term's name is
 * the same in the event's terms, in the loan's state and in the call's input, if that has it.
 */
type Completion<K extends EvmEventKind> = {
  role: LoanState['role']
  call?: CallName
  terms: { [T in keyof EvmEventTerms[K]]: Shown }
}

const COMPLETIONS: { [K in IncompleteKind]: Completion<K> } = {
  CreateLoanOffer: {
    role: 'erc20Loans',
    call: 'createLoanOffer',
    terms: {
      secretHashB1: asShown,
      filLender: asShown,
      interest: unlessZeroed,
      loanExpirationPeriod: asShown,
    },
  },
  ApproveRequest: { role: 'erc20Loans', terms: { loanExpiration: asShown, acceptExpiration: asShown } },
  CreateBorrowRequest: {
    role: 'erc20CollateralLock',
    call: 'createBorrowRequest',
    terms: {
      secretHashA1: asShown,
      filBorrower: asShown,
      principalAmount: beforeAccepted,
      interestRate: unlessZeroed,
      loanExpirationPeriod: asShown,
    },
  },
  AcceptOffer: { role: 'erc20CollateralLock', terms: { loanExpiration: asShown, lockPrice: asShown } },
  UnlockCollateral: { role: 'erc20CollateralLock', call: 'unlockCollateral', terms: { secretB1: nonEmpty } },
  SeizeCollateral: {
    role: 'erc20CollateralLock',
    call: 'seizeCollateral',
    terms: { liquidationPrice: asShown, secretA1: nonEmpty },
  },
}

/** Tells whether the event's terms need `fetchLoan`. */
export function lacksTerms(event: DecodedEvent): event is IncompleteEvent {
  return event.kind in COMPLETIONS
}

/** Tells whether the transaction may give terms that the loan's state did not. */
export function needsTransaction(event: EventWithTerms): boolean {
  return event.terms.unknown !== undefined && lacksTerms(event) && COMPLETIONS[event.kind].call !== undefined
}

/** Returns the event with its terms. Terms that no source knows are null, with every source's reason. */
export function completeEvent(event: DecodedEvent, contract: string, sources: TermSources): EventWithTerms {
  const terms = lacksTerms(event) ? termsOf(event, contract, sources) : { values: {} }
  // The table has exactly each kind's terms, which the compiler cannot follow through the union.
  return { terms, ...event } as EventWithTerms
}

function termsOf(
  event: IncompleteEvent,
  contract: string,
  { loan, transaction }: TermSources,
): { values: Record<string, string | null>; unknown?: Record<string, string> } {
  const { role, call: name, terms }: Completion<EvmEventKind> = COMPLETIONS[event.kind]
  const inCall = name === undefined ? [] : functionLayout(role, name).names
  const call = name === undefined ? {} : directCall(event, contract, { role, name, transaction })
  const values: Record<string, string | null> = {}
  const unknown: Record<string, string> = {}
  for (const [term, shown] of Object.entries<Shown>(terms)) {
    const found = [inLoan(loan, role, shown, term)]
    if (inCall.includes(term))
      found.push(typeof call === 'string' ? { why: call } : { value: call[term] ?? '' })
    const known = found.find((one) => 'value' in one)
    values[term] = known?.value ?? null
    if (known === undefined)
      unknown[term] = storableText(found.map((one) => ('why' in one ? one.why : '')).join('; '))
  }
  return Object.keys(unknown).length === 0 ? { values } : { values, unknown }
}

function inLoan(loan: LoanState | string, role: LoanState['role'], shown: Shown, name: string): Found {
  if (typeof loan === 'string') return { why: loan }
  return loan.role === role ? shown(loan, name) : { why: 'another contract' }
}

function asShown(loan: LoanState, name: string): Found {
  const value: unknown = Reflect.get(loan, name)
  return typeof value === 'string' ? { value } : { why: `fetchLoan has no ${name}` }
}

function nonEmpty(loan: LoanState, name: string): Found {
  const found = asShown(loan, name)
  return 'value' in found && found.value === '0x' ? { why: 'fetchLoan shows no secret' } : found
}

/** Reads an amount that accepting an offer replaces. */
function beforeAccepted(loan: LoanState, name: string): Found {
  const found = asShown(loan, name)
  if (loan.state === STATE_AFTER.CreateBorrowRequest) return found
  // A request can be cancelled only before an offer is accepted.
  if (loan.state === STATE_AFTER.CancelBorrowRequest && 'value' in found && found.value !== '0') return found
  return { why: `the loan was in state ${loan.state} already at the end of the block` }
}

/**
 * States reached without zeroing an amount. Cancel, refund, unlock and seize zero amounts (docs/protocol.md, section
 * 2).
 */
const KEEPS_AMOUNTS: Record<LoanState['role'], ReadonlySet<number>> = {
  erc20Loans: new Set([0, 1, 2, 3]),
  erc20CollateralLock: new Set([0, 1]),
}

/** Reads an amount that later transitions set to zero and never to anything else. */
function unlessZeroed(loan: LoanState, name: string): Found {
  const found = asShown(loan, name)
  if (!('value' in found) || found.value !== '0' || KEEPS_AMOUNTS[loan.role].has(loan.state)) return found
  return { why: `fetchLoan shows 0, but the loan was in state ${loan.state} already at the end of the block` }
}

/**
 * Returns the arguments of the call that emitted this event, or the reason why they are unknown. They must agree with
 * the event.
 */
function directCall(
  event: IncompleteEvent,
  contract: string,
  { role, name, transaction }: Pick<TermSources, 'transaction'> & { role: LoanState['role']; name: CallName },
): Fields | string {
  if (transaction === null) return 'its transaction was not read'
  if (typeof transaction === 'string') return transaction
  const call = decodeDirectCall(role, contract, name, transaction)
  if (typeof call === 'string' || agrees(event, call, transaction)) return call
  return `the input of ${name} is not what the event says`
}

/**
 * A token can call back into the contract, so that one direct call makes two loans. Only the arguments tell them apart:
 * a creation's call has no id, but its sender and the other arguments of the event.
 */
function agrees(
  { contractLoanId, args }: IncompleteEvent,
  call: Fields,
  { from }: TransactionInput,
): boolean {
  if (call['loanId'] !== undefined) return call['loanId'] === contractLoanId
  const maker = 'lender' in args ? args.lender : args.borrower
  return (
    from === maker.toLowerCase() &&
    Object.entries<string>(args).every(([name, value]) => (call[name] ?? value) === value)
  )
}
