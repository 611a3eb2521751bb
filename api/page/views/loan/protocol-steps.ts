/** (pure) The way of a loan through the protocol: the steps done, the present one, and those to come. */
import type { Step } from '../../../loan-life/steps.ts'
import type { LoanModel, Market } from './loan-model.ts'

export interface StepMark {
  step: Step
  title: string
  by: 'borrower' | 'lender' | null
  state: 'done' | 'current' | 'coming' | 'skipped'
}

interface PlannedStep {
  step: Step
  title: string
  by: 'borrower' | 'lender'
  /** A record of one of these events completes the step. */
  events: readonly string[]
}

const PATHS: Record<Market, readonly PlannedStep[]> = {
  ERC20: [
    {
      step: 'lock collateral',
      title: 'Lock collateral',
      by: 'borrower',
      events: ['LendERC20/LockCollateral'],
    },
    {
      step: 'sign voucher',
      title: 'Sign voucher',
      by: 'borrower',
      events: ['LendERC20/SignCollateralVoucher'],
    },
    { step: 'approve request', title: 'Approve', by: 'lender', events: ['ApproveRequest'] },
    { step: 'withdraw principal', title: 'Withdraw', by: 'borrower', events: ['Withdraw'] },
    { step: 'repay', title: 'Repay', by: 'borrower', events: ['Payback'] },
    { step: 'accept payback', title: 'Accept payback', by: 'lender', events: ['AcceptRepayment'] },
    {
      step: 'unlock',
      title: 'Unlock collateral',
      by: 'borrower',
      events: ['LendERC20/CollectUnlockCollateral'],
    },
  ],
  FIL: [
    { step: 'fund', title: 'Fund', by: 'lender', events: ['LendFIL/CreatePaymentChannel'] },
    { step: 'approve offer', title: 'Accept lender', by: 'borrower', events: ['AcceptOffer'] },
    { step: 'sign voucher', title: 'Sign voucher', by: 'lender', events: ['LendFIL/SignWithdrawVoucher'] },
    { step: 'withdraw', title: 'Withdraw', by: 'borrower', events: ['LendFIL/CollectWithdraw'] },
    { step: 'repay', title: 'Repay', by: 'borrower', events: ['LendFIL/SignPaybackVoucher'] },
    { step: 'accept payback', title: 'Accept payback', by: 'lender', events: ['LendFIL/CollectPayback'] },
    { step: 'unlock', title: 'Unlock collateral', by: 'borrower', events: ['UnlockCollateral'] },
  ],
}

/** Steps beside the plan, and the ends of a loan. */
const OTHERS: Partial<Record<Step, string>> = {
  cancel: 'Cancel',
  seize: 'Seize collateral',
  seized: 'Seized',
  refunded: 'Refunded',
  closed: 'Closed',
  cancelled: 'Cancelled',
}
const ENDS: readonly string[] = ['seized', 'refunded', 'closed', 'cancelled']

export function isEnded(step: string): boolean {
  return ENDS.includes(step)
}

/** A sentence for the loan's head. */
export const STEP_SENTENCES: Record<Step, string> = {
  'lock collateral': 'The offer waits for a borrower who locks collateral.',
  fund: 'The request waits for a lender who funds it.',
  'sign voucher': 'The channel is there; its voucher has to be signed.',
  'approve request': 'The collateral is there; the lender has to approve it.',
  'approve offer': 'A lender has funded it; the borrower has to accept.',
  'withdraw principal': 'Approved: the borrower can take the principal until the loan expires.',
  withdraw: 'Agreed: the borrower can take the principal.',
  cancel: 'The collateral goes back before anything was lent.',
  repay: 'The borrower has to repay the principal in time; afterwards the lender can seize the collateral.',
  'accept payback': 'Paid back: the lender has to accept it.',
  unlock: 'The collateral goes back to the borrower.',
  seize: 'The collateral goes to the lender.',
  seized: 'Ended: the lender has the collateral.',
  refunded: 'Ended: the borrower took the payback back.',
  closed: 'Ended: repaid, and the collateral is back.',
  cancelled: 'Cancelled before anything was lent.',
}

/** A planned step without its record was skipped once a later one is done, or once the loan left the plan. */
export function stepMarks({
  market,
  step,
  events,
}: Pick<LoanModel, 'market' | 'step' | 'events'>): StepMark[] {
  const path = PATHS[market]
  const names = new Set(events.map(({ event }) => event))
  const isDone = ({ events: completing }: PlannedStep): boolean => completing.some((name) => names.has(name))
  const current = path.findIndex((planned) => planned.step === step)
  const lastDone = path.findLastIndex(isDone)
  const marks = path.map((planned, index): StepMark => {
    const { title, by } = planned
    return { step: planned.step, title, by, state: stateOf(index, planned) }
  })
  if (current >= 0) return [...marks, { step: 'closed', title: 'Closed', by: null, state: 'coming' }]
  const kept = marks.filter(({ state }) => state !== 'coming')
  const title = OTHERS[step] ?? step
  return [...kept, { step, title, by: null, state: isEnded(step) ? 'done' : 'current' }]

  function stateOf(index: number, planned: PlannedStep): StepMark['state'] {
    if (index === current) return 'current'
    if (isDone(planned)) return 'done'
    if (current >= 0) return index < current ? 'skipped' : 'coming'
    return index < lastDone ? 'skipped' : 'coming'
  }
}
