/** (pure) The loans of one account, and their order: what it can do soonest comes first. */
import type { AccountLoans, LoanNextAnswer } from '../../../../client/generated/types.gen.ts'
import { loanModel, type Actor, type LoanModel } from '../loan/loan-model.ts'
import { compareMoments, shownActions, type ShownAction } from '../loan/next-actions.ts'

export interface AccountLoan {
  key: string
  loan: LoanModel
  /** Null where the account has a name that the loan's answer does not show. */
  role: Actor | null
  /** The account's most urgent action; undefined while it is not known. */
  action: ShownAction | null | undefined
  /** Actions of the other party that wait for it. */
  waitsForOther: boolean
}

/** `/next` of a loan, and when the reader received it, in Unix milliseconds. */
export interface SeenNext {
  next: LoanNextAnswer['payload']
  seenAt: number
}

export function loansOf({ erc20Loans, filLoans }: AccountLoans['payload']): LoanModel[] {
  const rest = { loanEvents: [], loanEventsTotal: 0 }
  return [
    ...erc20Loans.map(({ erc20Loan, filCollateral }) =>
      loanModel({ status: 'OK', payload: { erc20Loan, filCollateral, ...rest } }),
    ),
    ...filLoans.map(({ collateralLock, filLoan, filPayback }) =>
      loanModel({ status: 'OK', payload: { collateralLock, filLoan, filPayback, ...rest } }),
    ),
  ]
}

export function keyOf({ market, id }: LoanModel): string {
  return `${market} ${id}`
}

/** The side on which the account stands. An account can lend to itself: then it is the borrower here. */
export function roleOf(loan: LoanModel, account: string): Actor | null {
  const own = comparable(account)
  const isOwn = (actor: Actor): boolean =>
    Object.values(loan[actor]).some((name: string | null) => name !== null && comparable(name) === own)
  return (['borrower', 'lender'] as const).find(isOwn) ?? null
}

/** EVM addresses differ in their case, Filecoin addresses in the letter of their network. */
function comparable(address: string): string {
  return address.startsWith('0x') ? address.toLowerCase() : address.replace(/^t/, 'f')
}

export function accountLoans(
  loans: readonly LoanModel[],
  account: string,
  nexts: ReadonlyMap<string, SeenNext>,
  now: number,
): AccountLoan[] {
  return loans
    .map((loan): AccountLoan => {
      const role = roleOf(loan, account)
      const known = nexts.get(keyOf(loan))
      if (known === undefined)
        return { key: keyOf(loan), loan, role, action: undefined, waitsForOther: false }
      const actions = shownActions(known.next.actions, known.next.step, known.seenAt, now, loan.channels)
      const own = actions.filter(({ actor }) => role === null || actor === role)
      const planned = actions.filter(({ isPlanned, isOpen }) => isPlanned && isOpen)
      return {
        key: keyOf(loan),
        loan,
        role,
        action: own.find(({ isPlanned, isOver }) => isPlanned && !isOver) ?? own[0] ?? null,
        waitsForOther: role !== null && planned.length > 0 && planned.every(({ actor }) => actor !== role),
      }
    })
    .sort(byUrgency)
}

function byUrgency(one: AccountLoan, other: AccountLoan): number {
  return (
    rankOf(one) - rankOf(other) ||
    compareMoments(limitOf(one), limitOf(other)) ||
    // The newest loan first, as the API answers.
    Number(other.loan.id.replace(/^.*-/, '')) - Number(one.loan.id.replace(/^.*-/, '')) ||
    (one.key < other.key ? -1 : 1)
  )
}

function rankOf({ action }: AccountLoan): number {
  if (action === null || action === undefined || action.isOver) return 3
  if (!action.isPlanned) return 2
  return action.isOpen ? 0 : 1
}

function limitOf({ action }: AccountLoan): number | null {
  return action?.limit ?? null
}
