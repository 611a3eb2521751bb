import fc from 'fast-check'
import t from 'tap'
import { chainNow, countdown } from '../../../api/page/views/loan/countdown.ts'
import { voucherMeaning, voucherState, voucherTitle } from '../../../api/page/views/loan/voucher-state.ts'
import { voucherOf } from '../../helpers/page-loans.ts'

const NOW = Date.parse('2026-11-28T19:00:00.000Z')
const at = (seconds: number): { time: string; epoch: number } => ({
  time: new Date(NOW + seconds * 1000).toISOString(),
  epoch: 57,
})

void t.test('a countdown counts towards its moment and away from it', (t) => {
  t.equal(countdown(NOW + 3_661_000, NOW), 'in 1 h 1 min')
  t.equal(countdown(NOW + 59_000, NOW), 'in 59 s')
  t.equal(countdown(NOW - 90_000, NOW), '1 min 30 s ago')
  t.equal(countdown(NOW, NOW), '0 s ago')
  const moments = fc.integer({ min: 0, max: 8_640_000_000 })
  fc.assert(fc.property(moments, moments, (a, b) => countdown(a, b).startsWith('in ') === a > b))
  t.end()
})

void t.test('the present is never before the reader’s clock, and goes on with it', (t) => {
  t.equal(chainNow(null, NOW, NOW + 5), NOW + 5)
  t.equal(chainNow(NOW - 60_000, NOW, NOW + 5), NOW + 5, 'an index that lags')
  t.equal(chainNow(NOW + 60_000, NOW, NOW + 5), NOW + 60_005, 'a devnet that is ahead')
  t.end()
})

void t.test('the state of a voucher is said in words', (t) => {
  const said = (given: Parameters<typeof voucherOf>[0]): string => voucherState(voucherOf(given), NOW).text
  t.equal(said({ redeemed: { txHash: 'bafy', epoch: 51, time: null } }), 'Redeemed in epoch 51')
  t.equal(said({ supersededBy: 'ab' }), 'Replaced by a later voucher')
  t.equal(said({ redeemable: { now: true, from: null, until: null } }), 'Can be redeemed now')
  t.equal(
    said({ redeemable: { now: true, from: null, until: at(60) } }),
    'Can be redeemed now, time runs out in 1 min',
  )
  t.equal(
    said({ redeemable: { now: false, from: at(60), until: null } }),
    'Can be redeemed in 1 min at the earliest',
  )
  t.equal(said({ redeemable: { now: true, from: null, until: at(0) } }), 'The time has run out')
  t.equal(said({}), 'Cannot be redeemed now')
  t.end()
})

void t.test('every voucher of the protocol has a name, and a stranger is called one', (t) => {
  t.equal(voucherTitle(voucherOf()), 'Seize voucher')
  t.equal(voucherTitle(voucherOf({ use: 'unlock' })), 'Unlock voucher')
  t.equal(voucherTitle(voucherOf({ role: 'principal', use: 'pay' })), 'Withdraw voucher')
  t.equal(voucherTitle(voucherOf({ role: 'payback', use: 'pay' })), 'Payback voucher')
  t.equal(
    voucherTitle(voucherOf({ role: 'payback', use: 'other' })),
    'Unknown voucher of the payback channel',
  )
  t.equal(voucherMeaning(voucherOf({ use: 'other' })), 'is no voucher of the protocol')
  t.end()
})
