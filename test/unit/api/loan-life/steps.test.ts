import t from 'tap'
import {
  COLLATERAL_STATES,
  ERC20_LOAN_STATES,
  erc20Step,
  filStep,
  LOCK_STATES,
  PAY_STATES,
  STEPS,
} from '../../../../api/loan-life/steps.ts'

/** Rows of protocol.md, section 7: the states of the parts, and the step. */
const ERC20_ROWS: [loan: string, collateral: string, step: string][] = [
  ['0', '-', 'lock collateral'],
  ['0.5', '1', 'approve request'],
  ['1', '123', 'withdraw principal'],
  ['2', '2', 'repay'],
  ['2', '67', 'seize'],
  ['3', '2', 'accept payback'],
  ['5', '234', 'unlock'],
  ['6', '-012345678', 'cancelled'],
  // Seen in play, and not in the dapp's tables.
  ['5', '5', 'closed'],
  ['2', '8', 'seized'],
  ['5', '0', 'unlock'],
  ['2', '0', 'repay'],
  ['4', '012', 'seize'],
  ['4', '8', 'seized'],
  ['0', '0', 'sign voucher'],
  ['0', '45', 'lock collateral'],
]
const FIL_ROWS: [lock: string, principal: string, payback: string, step: string][] = [
  ['0', '-', '-', 'fund'],
  ['0.5', '0', '-', 'approve offer'],
  ['1', '0', '-', 'sign voucher'],
  ['1', '123', '-', 'withdraw'],
  ['1', '4', '-', 'repay'],
  ['1', '4', '123', 'accept payback'],
  ['1', '4', '4', 'unlock'],
  ['2', '-01234', '-01234', 'seized'],
  ['3', '4', '234', 'closed'],
  ['4', '-01234', '-01234', 'cancelled'],
  // Seen in play, and not in the dapp's tables.
  ['2', '4', '4', 'seized'],
  ['3', '0', '0', 'closed'],
  ['4', '4', '0', 'cancelled'],
  ['2', '0', '0', 'seized'],
  ['0', '34', '-', 'fund'],
]

void t.test('every row of the protocol has its step', (t) => {
  for (const [loan, collaterals, step] of ERC20_ROWS) {
    for (const collateral of collaterals) t.equal(erc20Step(loan, collateral), step, `${loan}/${collateral}`)
  }
  for (const [lock, principals, paybacks, step] of FIL_ROWS) {
    for (const principal of principals) {
      for (const payback of paybacks)
        t.equal(filStep(lock, principal, payback), step, `${lock}/${principal}/${payback}`)
    }
  }
  t.end()
})

void t.test('every combination of states has a step, and every step is one of some combination', (t) => {
  const erc20 = ERC20_LOAN_STATES.flatMap((loan) =>
    COLLATERAL_STATES.map((collateral) => erc20Step(loan, collateral)),
  )
  const fil = LOCK_STATES.flatMap((lock) =>
    PAY_STATES.flatMap((principal) => PAY_STATES.map((payback) => filStep(lock, principal, payback))),
  )
  t.equal(erc20.length, 80)
  t.equal(fil.length, 216)
  t.same([...new Set([...erc20, ...fil])].sort(), [...STEPS].sort())
  t.end()
})

void t.test('a state that no part has is an error', (t) => {
  t.throws(() => erc20Step('7', '-'), /no erc20Loan state 7/)
  t.throws(() => erc20Step('toString', '-'), /no erc20Loan state toString/)
  t.throws(() => erc20Step('0', '9'), /no filCollateral state 9/)
  t.throws(() => filStep('5', '-', '-'), /no collateralLock state 5/)
  t.throws(() => filStep('1', '5', '-'), /no filLoan state 5/)
  t.throws(() => filStep('1', '4', ''), /no filPayback state/)
  t.end()
})
