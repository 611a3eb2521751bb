import fc from 'fast-check'
import t from 'tap'
import type { LoanAction } from '../../../client/generated/types.gen.ts'
import { ACTIONS } from '../../../shared/loan-life/actions.ts'
import { STEPS } from '../../../api/loan-life/steps.ts'
import { ACTION_WORDS, servesStep } from '../../../api/page/views/loan/action-words.ts'
import { tokenLoan } from '../../helpers/page-loans.ts'
import { shownActions, whenText } from '../../../api/page/views/loan/next-actions.ts'

const NOW = Date.parse('2026-11-28T19:00:00.000Z')
const BASIS = { network: 'evm:31337', block: 83, time: '2026-11-28T18:59:50.000Z', secondsPerBlock: 12 }

function action(given: Partial<LoanAction> = {}): LoanAction {
  return {
    action: 'withdraw',
    actor: 'borrower',
    address: null,
    chain: 'evm:31337',
    notBefore: null,
    notAfter: null,
    basis: BASIS,
    ...given,
  }
}
const at = (seconds: number): { time: string; block: number | null } => ({
  time: new Date(NOW + seconds * 1000).toISOString(),
  block: null,
})

void t.test('every action has words, and every step that is no end has a planned action', (t) => {
  for (const name of ACTIONS) t.ok(ACTION_WORDS[name].title, name)
  for (const step of STEPS)
    t.ok(
      ACTIONS.some((name) => servesStep(step, name)),
      step,
    )
  t.end()
})

void t.test('the planned action with the soonest deadline comes first', (t) => {
  const shown = shownActions(
    [
      action({ action: 'settleCollateral', notAfter: at(10) }),
      action({ action: 'signUnlockVoucher', actor: 'lender' }),
      action({ action: 'withdraw', notAfter: at(3600) }),
      action({ action: 'cancelLoan', actor: 'lender', notBefore: at(60) }),
    ],
    'withdraw principal',
    NOW,
    NOW,
  )
  t.strictSame(
    shown.map(({ name, isOpen, isPlanned }) => [name, isOpen, isPlanned]),
    [
      ['withdraw', true, true],
      ['signUnlockVoucher', true, true],
      ['settleCollateral', true, false],
      ['cancelLoan', false, false],
    ],
  )
  t.end()
})

void t.test('the time of an action is said in words', (t) => {
  const said = (given: Partial<LoanAction>): string[] =>
    shownActions([action(given)], 'withdraw principal', NOW, NOW).map(whenText)
  t.strictSame(said({}), ['now, without a time limit'])
  t.strictSame(said({ notAfter: at(3661) }), ['now, time runs out in 1 h 1 min'])
  t.strictSame(said({ notBefore: at(60) }), ['possible in 1 min'])
  t.strictSame(said({ notBefore: at(-1), notAfter: at(-1) }), ['the time has run out'])
  t.end()
})

void t.test('an action whose time has run out is not open, and comes last', (t) => {
  const shown = shownActions(
    [
      action({ action: 'payback', notAfter: at(0) }),
      action({ action: 'seizeCollateral', actor: 'lender', notBefore: at(60) }),
      action({ action: 'signPaybackVoucher', notAfter: at(1) }),
    ],
    'repay',
    NOW,
    NOW,
  )
  t.strictSame(
    shown.map(({ name, isOpen, isOver, limit }) => [name, isOpen, isOver, limit]),
    [
      ['signPaybackVoucher', true, false, NOW + 1000],
      ['seizeCollateral', false, false, NOW + 60_000],
      ['payback', false, true, NOW],
    ],
  )
  t.end()
})

void t.test('what counts after a default or a missed acceptance is planned', (t) => {
  for (const [step, name] of [
    ['repay', 'redeemSeizeVoucher'],
    ['repay', 'seizeCollateral'],
    ['accept payback', 'refundPayback'],
  ] as const)
    t.equal(servesStep(step, name), true, name)
  t.end()
})

void t.test('the clock of a chain that is ahead decides', (t) => {
  const ahead = { ...BASIS, time: new Date(NOW + 120_000).toISOString() }
  const [shown] = shownActions([action({ notBefore: at(60), basis: ahead })], 'repay', NOW, NOW)
  t.equal(shown?.isOpen, true)
  t.equal(shown?.now, NOW + 120_000)
  t.end()
})

void t.test('closing a channel is planned once its voucher was redeemed', (t) => {
  const planned = (state: string): boolean[] =>
    shownActions(
      [action({ action: 'settleCollateral' })],
      'unlock',
      NOW,
      NOW,
      tokenLoan({ channel: { state } }).channels,
    ).map(({ isPlanned }) => isPlanned)
  t.strictSame([planned('2'), planned('3')], [[false], [true]])
  t.end()
})

void t.test('an action that the page does not know is shown by its name', (t) => {
  const [shown] = shownActions([action({ action: 'renewed' as 'withdraw' })], 'repay', NOW, NOW)
  t.equal(shown?.title, 'renewed')
  t.end()
})

void t.test('the order does not depend on the order of the answer', (t) => {
  const seconds = fc.option(fc.integer({ min: -100, max: 100 }))
  const one = fc.record({
    action: fc.constantFrom(...ACTIONS),
    actor: fc.constantFrom('borrower' as const, 'lender' as const),
    from: seconds,
    until: seconds,
  })
  const asAction = (given: {
    action: LoanAction['action']
    actor: LoanAction['actor']
    from: number | null
    until: number | null
  }): LoanAction =>
    action({
      ...{ action: given.action, actor: given.actor },
      notBefore: given.from === null ? null : at(given.from),
      notAfter: given.until === null ? null : at(given.until),
    })
  const lists = fc.uniqueArray(one, { selector: ({ action, actor }) => `${action} ${actor}`, maxLength: 12 })
  fc.assert(
    fc.property(
      lists,
      fc.constantFrom(...STEPS),
      fc.infiniteStream(fc.double({ noNaN: true })),
      (list, step, keys) => {
        const actions = list.map(asAction)
        const shuffled = actions
          .map((each) => ({ each, key: Number(keys.next().value) }))
          .sort((a, b) => a.key - b.key)
        const order = (given: LoanAction[]): string[] =>
          shownActions(given, step, NOW, NOW).map(({ key }) => key)
        const sorted = shownActions(actions, step, NOW, NOW)
        const firstLater = sorted.findIndex(({ isOpen }) => !isOpen)
        const openAfterLater = firstLater >= 0 && sorted.slice(firstLater).some(({ isOpen }) => isOpen)
        return !openAfterLater && String(order(actions)) === String(order(shuffled.map(({ each }) => each)))
      },
    ),
  )
  t.end()
})
