import t from 'tap'
import type { LoanAction } from '../../../client/generated/types.gen.ts'
import { accountLoans, keyOf, roleOf, type SeenNext } from '../../../api/page/views/account/account-model.ts'
import { tokenLoan } from '../../helpers/page-loans.ts'

const NOW = Date.parse('2026-11-28T19:00:00.000Z')
const BORROWER = '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853'

function nextOf(step: SeenNext['next']['step'], actions: Partial<LoanAction>[]): SeenNext {
  const common = {
    actor: 'borrower',
    address: null,
    chain: 'evm:31337',
    notBefore: null,
    basis: null,
  } as const
  return {
    next: {
      step,
      actions: actions.map((given) => ({ action: 'payback', notAfter: null, ...common, ...given })),
      problems: [],
    },
    seenAt: NOW,
  }
}
const after = (seconds: number): { time: string; block: null } => ({
  time: new Date(NOW + seconds * 1000).toISOString(),
  block: null,
})

void t.test('an account is known by each of its names, in any spelling', (t) => {
  const loan = tokenLoan({})
  for (const name of [BORROWER, BORROWER.toLowerCase(), 't1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza'])
    t.equal(roleOf(loan, name), 'borrower', name)
  t.equal(roleOf(loan, 'f1fukgbedwy3a5yinjl3ldya33anlmhuhvl77bx2i'), 'lender')
  t.equal(roleOf(loan, 'f01015'), 'lender', 'as the lender wrote it into the contract')
  t.equal(roleOf(loan, 'f0999'), null)
  t.end()
})

void t.test('what the account can do soonest comes first', (t) => {
  const loans = ['1', '2', '3', '4', '5'].map((id) => tokenLoan({ loan: { id } }))
  const nexts = new Map([
    ['ERC20 1', nextOf('repay', [{ notAfter: after(7200) }])],
    ['ERC20 2', nextOf('repay', [{ notAfter: after(60) }])],
    ['ERC20 3', nextOf('repay', [{ action: 'settleCollateral' }])],
    [
      'ERC20 4',
      nextOf('accept payback', [{ action: 'acceptRepayment', actor: 'lender', notAfter: after(1) }]),
    ],
  ])
  const shown = accountLoans(loans, BORROWER, nexts, NOW)
  t.strictSame(
    shown.map(({ key }) => key),
    ['ERC20 2', 'ERC20 1', 'ERC20 3', 'ERC20 5', 'ERC20 4'],
  )
  t.strictSame(
    shown.map(({ action }) => action && action.name),
    ['payback', 'payback', 'settleCollateral', undefined, null],
  )
  t.equal(shown.at(-1)?.waitsForOther, true)
  t.end()
})

void t.test('what has run out is not due: it comes after all that can still be done', (t) => {
  const loans = ['1', '2', '3'].map((id) => tokenLoan({ loan: { id } }))
  const nexts = new Map([
    ['ERC20 1', nextOf('repay', [{ notAfter: after(60) }, { action: 'settleCollateral' }])],
    ['ERC20 2', nextOf('repay', [{ notAfter: after(60) }])],
    ['ERC20 3', nextOf('repay', [{ notAfter: after(3600) }])],
  ])
  const shown = accountLoans(loans, BORROWER, nexts, NOW + 60_000)
  t.strictSame(
    shown.map(({ key, action }) => [key, action?.name, action?.isOpen]),
    [
      ['ERC20 3', 'payback', true],
      ['ERC20 1', 'settleCollateral', true],
      ['ERC20 2', 'payback', false],
    ],
  )
  t.end()
})

void t.test('the actions of both parties count where the role is not known', (t) => {
  const loan = tokenLoan({})
  const nexts = new Map([
    [keyOf(loan), nextOf('accept payback', [{ action: 'acceptRepayment', actor: 'lender' }])],
  ])
  const [shown] = accountLoans([loan], 'f0999', nexts, NOW)
  t.equal(shown?.role, null)
  t.equal(shown?.action?.name, 'acceptRepayment')
  t.equal(shown?.waitsForOther, false, 'nobody is the other party')
  t.end()
})
