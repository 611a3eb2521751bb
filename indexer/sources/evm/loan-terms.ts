import type { EvmEventKind, EvmEventTerms, Terms } from '../../../shared/events/chain-event.ts'
import type { DecodedEvent } from './decode-log.ts'
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

/** Source of a term. Its name is the same in the event's terms, in the loan's state and in the call's input. */
interface Term {
  /** Reads the value from the loan's state, unless a later transition may have changed it there. */
  shown: (loan: LoanState, name: string) => Found
  /** Type in the input of the direct call; missing when the call does not carry the term. */
  input?: 'uint' | 'hex'
}

/** The contract, the function whose direct call emits the event, and the terms in the order of the log. */
type Completion<K extends EvmEventKind> = {
  role: LoanState['role']
  call?: CallName
  terms: { [T in keyof EvmEventTerms[K]]: Term }
}

const COMPLETIONS: { [K in IncompleteKind]: Completion<K> } = {
  CreateLoanOffer: {
    role: 'erc20Loans',
    call: 'createLoanOffer',
    terms: {
      secretHashB1: { shown: asShown, input: 'hex' },
      filLender: { shown: asShown, input: 'hex' },
      interest: { shown: unlessZeroed, input: 'uint' },
      loanExpirationPeriod: { shown: asShown, input: 'uint' },
    },
  },
  ApproveRequest: {
    role: 'erc20Loans',
    terms: { loanExpiration: { shown: asShown }, acceptExpiration: { shown: asShown } },
  },
  CreateBorrowRequest: {
    role: 'erc20CollateralLock',
    call: 'createBorrowRequest',
    terms: {
      secretHashA1: { shown: asShown, input: 'hex' },
      filBorrower: { shown: asShown, input: 'hex' },
      principalAmount: { shown: beforeAccepted, input: 'uint' },
      interestRate: { shown: unlessZeroed, input: 'uint' },
      loanExpirationPeriod: { shown: asShown, input: 'uint' },
    },
  },
  AcceptOffer: {
    role: 'erc20CollateralLock',
    terms: { loanExpiration: { shown: asShown }, lockPrice: { shown: asShown } },
  },
  UnlockCollateral: {
    role: 'erc20CollateralLock',
    call: 'unlockCollateral',
    terms: { secretB1: { shown: nonEmpty, input: 'hex' } },
  },
  SeizeCollateral: {
    role: 'erc20CollateralLock',
    call: 'seizeCollateral',
    terms: { liquidationPrice: { shown: asShown }, secretA1: { shown: nonEmpty, input: 'hex' } },
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
  const call = name === undefined ? null : directCall(event, contract, { role, name, transaction })
  const values: Record<string, string | null> = {}
  const unknown: Record<string, string> = {}
  for (const [term, { shown, input }] of Object.entries<Term>(terms)) {
    const found = [inLoan(loan, role, shown, term)]
    if (input !== undefined && call !== null) found.push(inInput(call, input, term))
    const known = found.find((one) => 'value' in one)
    values[term] = known?.value ?? null
    if (known === undefined)
      unknown[term] = storableText(found.map((one) => ('why' in one ? one.why : '')).join('; '))
  }
  return Object.keys(unknown).length === 0 ? { values } : { values, unknown }
}

function inLoan(
  loan: LoanState | string,
  role: LoanState['role'],
  shown: Term['shown'],
  name: string,
): Found {
  if (typeof loan === 'string') return { why: loan }
  return loan.role === role ? shown(loan, name) : { why: 'another contract' }
}

function inInput(call: Fields | string, type: 'uint' | 'hex', name: string): Found {
  if (typeof call === 'string') return { why: call }
  return { value: call[type](name) }
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
 * A token can call back into the contract, so that one direct call makes two loans. Only the arguments tell them apart.
 */
function agrees(event: IncompleteEvent, call: Fields, { from }: TransactionInput): boolean {
  switch (event.kind) {
    case 'CreateLoanOffer': {
      const { lender, principal, token } = event.args
      return (
        from === lender.toLowerCase() &&
        call.uint('principal') === principal &&
        call.address('token') === token
      )
    }
    case 'CreateBorrowRequest': {
      const { borrower, collateralAmount, token } = event.args
      return (
        from === borrower.toLowerCase() &&
        call.uint('collateralAmount') === collateralAmount &&
        call.address('token') === token
      )
    }
    case 'ApproveRequest':
    case 'AcceptOffer':
    case 'UnlockCollateral':
    case 'SeizeCollateral':
      return call.uint('loanId') === event.contractLoanId
  }
}
