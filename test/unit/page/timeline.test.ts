import fc from 'fast-check'
import t from 'tap'
import { RECORD_EVENTS } from '../../../shared/events/record-events.ts'
import { eventWords } from '../../../api/page/views/loan/event-words.ts'
import { asOfFrom, momentAt, positionOf } from '../../../api/page/views/loan/moments.ts'
import {
  columnsOf,
  firstColumn,
  linksOf,
  markersOf,
  MOST_COLUMNS,
} from '../../../api/page/views/loan/timeline-model.ts'
import { tokenLoan, voucherOf } from '../../helpers/page-loans.ts'

const LIFE = [
  'CreateLoanOffer',
  'LendERC20/LockCollateral',
  'LendERC20/SignCollateralVoucher',
  'ApproveRequest',
  'Withdraw',
  'LendERC20/RedeemSeizeCollateralVoucher',
]

void t.test('each record is a column on its chain', (t) => {
  const columns = columnsOf(tokenLoan({ events: LIFE }).events)
  t.strictSame(
    columns.map(({ lane, isOffChain, words: { title } }) => [lane, isOffChain, title]),
    [
      ['evm', false, 'Loan offered'],
      ['filecoin', false, 'Collateral locked'],
      ['filecoin', true, 'Seize voucher signed'],
      ['evm', false, 'Borrower approved'],
      ['evm', false, 'Principal withdrawn'],
      ['filecoin', false, 'Seize voucher redeemed'],
    ],
  )
  t.end()
})

void t.test('the contract names the channel, and a shown secret is used on the other chain', (t) => {
  const loan = tokenLoan({ events: LIFE, explain: { erc20Loan: { paymentChannelId: [4_000_000] } } })
  const links = linksOf(loan, columnsOf(loan.events), [])
  t.strictSame(
    links.map(({ from, to, kind, isProvisional }) => ({ from, to, kind, isProvisional })),
    [
      { from: 3, to: 1, kind: 'channel', isProvisional: false },
      { from: 4, to: 5, kind: 'secret', isProvisional: false },
    ],
  )
  t.match(links[0]?.why, /names the collateral channel t01043/)
  t.match(links[1]?.why, /secret A1/)
  t.end()
})

void t.test('a channel that the contract does not name is linked by its voucher, else provisionally', (t) => {
  const events = LIFE.slice(0, 3)
  const byVoucher = tokenLoan({ events, loan: { paymentChannelId: null } })
  const linked = linksOf(byVoucher, columnsOf(byVoucher.events), [voucherOf()])
  t.match(linked, [{ from: 0, to: 1, isProvisional: false, label: 'same secret A1' }])
  t.match(linksOf(byVoucher, columnsOf(byVoucher.events), []), [{ isProvisional: true }], 'no voucher')
  const other = voucherOf({ secretHash: `0x${'00'.repeat(32)}` })
  t.match(
    linksOf(byVoucher, columnsOf(byVoucher.events), [other]),
    [{ isProvisional: true }],
    'another secret',
  )
  const unseen = tokenLoan({ events, loan: { paymentChannelId: null }, channel: { signedVoucher: null } })
  const early = linksOf(unseen, columnsOf(unseen.events), [voucherOf()])
  t.match(early, [{ isProvisional: true }], 'a voucher that was not known at that moment')
  t.end()
})

void t.test('a contract that names another channel is no reason', (t) => {
  const loan = tokenLoan({ events: LIFE, loan: { paymentChannelId: `0x743039${'00'.repeat(29)}` } })
  const [link] = linksOf(loan, columnsOf(loan.events), [])
  t.equal(link?.isProvisional, true)
  t.end()
})

void t.test('a loan whose channel was not seen has no link', (t) => {
  const loan = tokenLoan({ events: ['CreateLoanOffer'], channel: null })
  t.strictSame(linksOf(loan, columnsOf(loan.events), []), [])
  t.end()
})

void t.test('every event of the history has words', (t) => {
  for (const event of RECORD_EVENTS) t.not(eventWords(event).title, event)
  t.equal(eventWords('<b>new</b>').title, '<b>new</b>')
  t.equal(eventWords('constructor').title, 'constructor')
  t.end()
})

void t.test('the slider has a position for each record, and one for now', (t) => {
  const lists = fc
    .uniqueArray(fc.integer({ min: 1, max: 1e9 }), { maxLength: 40 })
    .map((ids) => ids.sort((a, b) => a - b))
  fc.assert(
    fc.property(lists, (ids) => {
      const back = ids.every((id, index) => positionOf(ids, id) === index && momentAt(ids, index) === id)
      return back && positionOf(ids, null) === ids.length && momentAt(ids, ids.length) === null
    }),
  )
  t.equal(positionOf([10, 20, 30], 25), 1, 'a record that is gone stands at the one before it')
  t.equal(positionOf([10, 20, 30], 5), 0)
  t.end()
})

void t.test('the address has the id of a record, or means now', (t) => {
  t.equal(asOfFrom('282000000'), 282_000_000)
  for (const text of [null, '', '0', '-1', '1e9', ' 7', '9'.repeat(16), 'now', '<b>'])
    t.equal(asOfFrom(text), null, String(text))
  t.end()
})

void t.test('the chosen record is among the columns', (t) => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(1000), (count, chosen) => {
      const selected = Math.min(chosen, count)
      const first = firstColumn(count, selected)
      const isNow = selected === count
      return first >= 0 && selected >= first && (isNow || selected < first + MOST_COLUMNS)
    }),
  )
  t.equal(firstColumn(100, 100), 40, 'the newest')
  t.end()
})

void t.test('the numbers of links that cross stand apart', (t) => {
  const columns = columnsOf(tokenLoan({ events: ['Withdraw', 'LendERC20/LockCollateral', 'Payback'] }).events)
  const link = { kind: 'secret', label: '', why: '', isProvisional: false } as const
  const places = markersOf(columns, [
    { from: 0, to: 1, ...link },
    { from: 1, to: 0, ...link },
    { from: 2, to: 1, ...link },
    { from: 0, to: 1, ...link },
  ])
  t.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 4)
  t.end()
})
