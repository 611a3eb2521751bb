import type { EvmEventKind, EvmEventTerms, Terms } from '../../../shared/events/chain-event.ts'
import type { DecodedEvent } from './decode-log.ts'
import { decodeDirectCall, type LoanState, type TransactionInput } from './decode-loan.ts'
import type { Fields } from './decode-abi.ts'
import { STATE_AFTER } from './loan-states.ts'
import { storableText } from '../rpc/foreign-text.ts'

/**
 * The terms that events do not carry. `fetchLoan` shows the loan at the END of the event's block: an amount that a
 * later transition in the same block may have zeroed or replaced is not taken from it, but from the transaction's
 * input, and is unknown where the transaction is no direct call.
 */
export interface TermSources {
  /** The loan after the event's block, or why it is not known. */
  loan: LoanState | string
  /** The event's transaction, or why it is not known; null when nobody needed it. */
  transaction: TransactionInput | string | null
}

export type EventWithTerms = Extract<
  { [K in EvmEventKind]: Extract<DecodedEvent, { kind: K }> & { terms: Terms<K> } }[EvmEventKind],
  { kind: EvmEventKind }
>

/** Kinds that carry everything that is recorded of them. */
type CompleteKind = { [K in EvmEventKind]: keyof EvmEventTerms[K] extends never ? K : never }[EvmEventKind]
export type IncompleteEvent = Exclude<DecodedEvent, { kind: CompleteKind }>

const INCOMPLETE: ReadonlySet<EvmEventKind> = new Set<EvmEventKind>([
  'CreateLoanOffer',
  'ApproveRequest',
  'CreateBorrowRequest',
  'AcceptOffer',
  'UnlockCollateral',
  'SeizeCollateral',
])

/** Whether the event's terms need `fetchLoan`. */
export function lacksTerms(event: DecodedEvent): boolean {
  return INCOMPLETE.has(event.kind)
}

/** Whether the transaction may say what the loan's state did not, of an event that was completed without it. */
export function needsTransaction({ kind, terms }: EventWithTerms): boolean {
  return terms.unknown !== undefined && kind !== 'ApproveRequest' && kind !== 'AcceptOffer'
}

export function completeEvent(event: DecodedEvent, contract: string, sources: TermSources): EventWithTerms {
  switch (event.kind) {
    case 'CreateLoanOffer': {
      const loan = erc20Loan(sources.loan)
      const call = directCall(event, contract, 'createLoanOffer', sources)
      const collect = new Collector()
      const values = {
        secretHashB1: collect.term(
          'secretHashB1',
          from(loan, 'secretHashB1'),
          arg(call, 'hex', 'secretHashB1'),
        ),
        filLender: collect.term('filLender', from(loan, 'filLender'), arg(call, 'hex', 'filLender')),
        interest: collect.term('interest', unlessZeroed(loan, 'interest'), arg(call, 'uint', 'interest')),
        loanExpirationPeriod: collect.term(
          'loanExpirationPeriod',
          from(loan, 'loanExpirationPeriod'),
          arg(call, 'uint', 'loanExpirationPeriod'),
        ),
      }
      return { terms: collect.terms(values), ...event }
    }
    case 'ApproveRequest': {
      const loan = erc20Loan(sources.loan)
      const collect = new Collector()
      const values = {
        loanExpiration: collect.term('loanExpiration', from(loan, 'loanExpiration')),
        acceptExpiration: collect.term('acceptExpiration', from(loan, 'acceptExpiration')),
      }
      return { terms: collect.terms(values), ...event }
    }
    case 'CreateBorrowRequest': {
      const loan = collateralLock(sources.loan)
      const call = directCall(event, contract, 'createBorrowRequest', sources)
      const collect = new Collector()
      const values = {
        secretHashA1: collect.term(
          'secretHashA1',
          from(loan, 'secretHashA1'),
          arg(call, 'hex', 'secretHashA1'),
        ),
        filBorrower: collect.term('filBorrower', from(loan, 'filBorrower'), arg(call, 'hex', 'filBorrower')),
        principalAmount: collect.term(
          'principalAmount',
          beforeAccepted(loan, 'principalAmount'),
          arg(call, 'uint', 'principalAmount'),
        ),
        interestRate: collect.term(
          'interestRate',
          unlessZeroed(loan, 'interestRate'),
          arg(call, 'uint', 'interestRate'),
        ),
        loanExpirationPeriod: collect.term(
          'loanExpirationPeriod',
          from(loan, 'loanExpirationPeriod'),
          arg(call, 'uint', 'loanExpirationPeriod'),
        ),
      }
      return { terms: collect.terms(values), ...event }
    }
    case 'AcceptOffer': {
      const loan = collateralLock(sources.loan)
      const collect = new Collector()
      const values = {
        loanExpiration: collect.term('loanExpiration', from(loan, 'loanExpiration')),
        lockPrice: collect.term('lockPrice', from(loan, 'lockPrice')),
      }
      return { terms: collect.terms(values), ...event }
    }
    case 'UnlockCollateral': {
      const call = directCall(event, contract, 'unlockCollateral', sources)
      const collect = new Collector()
      const secret = nonEmpty(from(collateralLock(sources.loan), 'secretB1'))
      const values = { secretB1: collect.term('secretB1', secret, arg(call, 'hex', 'secretB1')) }
      return { terms: collect.terms(values), ...event }
    }
    case 'SeizeCollateral': {
      const loan = collateralLock(sources.loan)
      const call = directCall(event, contract, 'seizeCollateral', sources)
      const collect = new Collector()
      const values = {
        liquidationPrice: collect.term('liquidationPrice', from(loan, 'liquidationPrice')),
        secretA1: collect.term('secretA1', nonEmpty(from(loan, 'secretA1')), arg(call, 'hex', 'secretA1')),
      }
      return { terms: collect.terms(values), ...event }
    }
    case 'Withdraw':
    case 'Payback':
    case 'AcceptRepayment':
    case 'RefundPayback':
    case 'CancelLoan':
    case 'UnlockRefundableCollateral':
    case 'CancelBorrowRequest':
      return { terms: { values: {} }, ...event }
  }
}

/** A value, or why there is none. */
type Found = { value: string } | { why: string }

class Collector {
  readonly #unknown: Record<string, string> = {}

  /** The first value that one of the sources knows; null, with every source's reason, where none does. */
  term(name: string, ...sources: Found[]): string | null {
    const reasons: string[] = []
    for (const source of sources) {
      if ('value' in source) return source.value
      reasons.push(source.why)
    }
    this.#unknown[name] = storableText(reasons.join('; '))
    return null
  }

  terms<V>(values: V): { values: V; unknown?: Record<string, string> } {
    return Object.keys(this.#unknown).length === 0 ? { values } : { values, unknown: this.#unknown }
  }
}

function from<S extends LoanState>(loan: S | string, name: keyof S & string): Found {
  if (typeof loan === 'string') return { why: loan }
  const value = loan[name]
  return typeof value === 'string' ? { value } : { why: `fetchLoan has no ${name}` }
}

function nonEmpty(found: Found): Found {
  if (!('value' in found) || found.value !== '0x') return found
  return { why: 'fetchLoan shows no secret' }
}

/** An amount that accepting an offer replaces by another one: what fetchLoan shows then is not what was asked for. */
function beforeAccepted<S extends LoanState>(loan: S | string, name: keyof S & string): Found {
  if (typeof loan === 'string' || loan.state === STATE_AFTER.CreateBorrowRequest) return from(loan, name)
  // A request is cancelled only while no offer was accepted.
  if (loan.state === STATE_AFTER.CancelBorrowRequest && loan[name] !== '0') return from(loan, name)
  return { why: `the loan was in state ${loan.state} already at the end of the block` }
}

/** States that are reached without an amount being zeroed (protocol, section 2: cancel, refund, unlock and seize do). */
const KEEPS_AMOUNTS: Record<LoanState['role'], ReadonlySet<number>> = {
  erc20Loans: new Set([0, 1, 2, 3]),
  erc20CollateralLock: new Set([0, 1]),
}

/** An amount that later transitions set to zero and never to anything else. */
function unlessZeroed<S extends LoanState>(loan: S | string, name: keyof S & string): Found {
  const found = from(loan, name)
  if (typeof loan === 'string' || !('value' in found) || found.value !== '0') return found
  if (KEEPS_AMOUNTS[loan.role].has(loan.state)) return found
  return { why: `fetchLoan shows 0, but the loan was in state ${loan.state} already at the end of the block` }
}

function erc20Loan(loan: LoanState | string): Extract<LoanState, { role: 'erc20Loans' }> | string {
  return typeof loan === 'string' || loan.role === 'erc20Loans' ? loan : 'another contract'
}

function collateralLock(
  loan: LoanState | string,
): Extract<LoanState, { role: 'erc20CollateralLock' }> | string {
  return typeof loan === 'string' || loan.role === 'erc20CollateralLock' ? loan : 'another contract'
}

function arg(call: Fields | string, type: 'uint' | 'hex', name: string): Found {
  if (typeof call === 'string') return { why: call }
  return { value: type === 'uint' ? call.uint(name) : call.hex(name) }
}

type CallName = Parameters<typeof decodeDirectCall>[2]

/** The call that made this event; a call's arguments must agree with what the event itself says. */
function directCall(
  event: IncompleteEvent,
  contract: string,
  functionName: CallName,
  sources: TermSources,
): Fields | string {
  const { transaction } = sources
  if (transaction === null) return 'its transaction was not read'
  if (typeof transaction === 'string') return transaction
  const role = functionName === 'createLoanOffer' ? 'erc20Loans' : 'erc20CollateralLock'
  const call = decodeDirectCall(role, contract, functionName, transaction)
  if (typeof call === 'string') return call
  return saysTheSame(event, call, transaction)
    ? call
    : `the input of ${functionName} is not what the event says`
}

/** A token can call back into the contract: then one transaction, though a direct call, makes two loans. */
function saysTheSame(event: IncompleteEvent, call: Fields, transaction: TransactionInput): boolean {
  switch (event.kind) {
    case 'CreateLoanOffer':
      return (
        transaction.from === event.args.lender.toLowerCase() &&
        call.uint('principal') === event.args.principal &&
        call.address('token') === event.args.token
      )
    case 'CreateBorrowRequest':
      return (
        transaction.from === event.args.borrower.toLowerCase() &&
        call.uint('collateralAmount') === event.args.collateralAmount &&
        call.address('token') === event.args.token
      )
    case 'ApproveRequest':
    case 'AcceptOffer':
    case 'UnlockCollateral':
    case 'SeizeCollateral':
      return call.uint('loanId') === event.contractLoanId
  }
}
