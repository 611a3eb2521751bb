import t from 'tap'
import {
  COLLATERAL_STATES,
  ERC20_LOAN_STATES,
  erc20Step,
  filStep,
  LOCK_STATES,
  PAY_STATES,
  STEPS,
  type Step,
} from '../../../api/loan-life/steps.ts'
import { isEnded, STEP_SENTENCES, stepMarks } from '../../../api/page/views/loan/protocol-steps.ts'
import { recordOf } from '../../helpers/page-loans.ts'

const marks = (step: Step, events: string[] = []): string[] =>
  stepMarks({ market: 'ERC20', step, events: events.map((event, index) => recordOf(index + 1, event)) }).map(
    ({ title, state }) => `${title}: ${state}`,
  )

void t.test('the way shows what is done, what is due and what comes', (t) => {
  t.strictSame(
    marks('repay', ['CreateLoanOffer', 'LendERC20/LockCollateral', 'ApproveRequest', 'Withdraw']),
    [
      'Lock collateral: done',
      'Sign voucher: skipped',
      'Approve: done',
      'Withdraw: done',
      'Repay: current',
      'Accept payback: coming',
      'Unlock collateral: coming',
      'Closed: coming',
    ],
  )
  t.end()
})

void t.test('a loan that left the way shows where it ended', (t) => {
  t.strictSame(marks('seized', ['LendERC20/LockCollateral', 'ApproveRequest', 'Withdraw']), [
    'Lock collateral: done',
    'Sign voucher: skipped',
    'Approve: done',
    'Withdraw: done',
    'Seized: done',
  ])
  t.strictSame(marks('cancelled'), ['Cancelled: done'])
  t.strictSame(marks('seize'), ['Seize collateral: current'])
  t.end()
})

void t.test('every combination of states has one present step or an end, and a sentence', (t) => {
  const reached = new Set<Step>()
  for (const loan of ERC20_LOAN_STATES)
    for (const collateral of COLLATERAL_STATES) check('ERC20', erc20Step(loan, collateral))
  for (const lock of LOCK_STATES)
    for (const principal of PAY_STATES)
      for (const payback of PAY_STATES) check('FIL', filStep(lock, principal, payback))
  t.strictSame([...reached].sort(), [...STEPS].sort(), 'all steps are reached')
  t.end()

  function check(market: 'ERC20' | 'FIL', step: Step): void {
    if (reached.has(step)) return
    reached.add(step)
    const shown = stepMarks({ market, step, events: [] })
    const current = shown.filter(({ state }) => state === 'current')
    t.equal(current.length, isEnded(step) ? 0 : 1, `${market} ${step}`)
    t.ok(STEP_SENTENCES[step], step)
  }
})
