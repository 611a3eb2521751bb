import t from 'tap'
import { channelFactsOf } from '../../../../indexer/ingest/channel-facts.evolve.ts'
import {
  collectChannel,
  fundChannel,
  identity,
  makeChannel,
  settleChannel,
  updateChannel,
  voucherFacts,
} from '../../../helpers/channel-events.ts'

const FROM = identity('t1from', 't0100')
const RECIPIENT = identity('t1recipient', 't0101')
const MADE = makeChannel({
  height: 10,
  channel: 't2channel',
  channelId: 't0102',
  from: FROM,
  recipient: RECIPIENT,
  value: '500',
})
const TO = 't2channel'

void t.test('without a creation there is no channel', (t) => {
  t.equal(channelFactsOf([]), undefined)
  t.equal(channelFactsOf([fundChannel({ height: 11, to: TO })]), undefined)
  t.end()
})

void t.test('funds add up, whatever came with which message', (t) => {
  const update = {
    ...updateChannel({ height: 12, to: TO, voucher: voucherFacts({ key: 'k' }), sender: FROM }),
    value: '7',
  }
  const facts = channelFactsOf([MADE, fundChannel({ height: 11, to: TO, value: '20' }), update])
  t.equal(facts?.largestBalance, 527n)
  t.end()
})

void t.test('who redeems did not sign, by whatever name', (t) => {
  const redeem = (sender: ReturnType<typeof identity>) =>
    channelFactsOf([
      MADE,
      updateChannel({
        height: 12,
        to: TO,
        voucher: voucherFacts({ key: 'k', lane: '3', nonce: '4' }),
        sender,
      }),
    ])?.redeemed
  t.same(redeem(RECIPIENT), [{ lane: 3n, nonce: 4n, key: 'k', signedBy: 'from' }])
  t.match(redeem(identity('t0101')), [{ signedBy: 'from' }])
  t.match(redeem(identity('f0100')), [{ signedBy: 'recipient' }])
  t.match(redeem(identity('t1stranger')), [{ signedBy: null }])
  t.end()
})

void t.test('a later minimum height puts the settlement off, an earlier one does not', (t) => {
  const settle = settleChannel({ height: 20, to: TO, settlingAtEpoch: 1460 })
  const update = (minSettleHeight: string) =>
    updateChannel({ height: 30, to: TO, voucher: voucherFacts({ key: 'k', minSettleHeight }), sender: FROM })
  t.equal(channelFactsOf([MADE, settle])?.settlingAtEpoch, 1460)
  t.equal(channelFactsOf([MADE, settle, update('1000')])?.settlingAtEpoch, 1460)
  t.equal(channelFactsOf([MADE, settle, update('2000')])?.settlingAtEpoch, 2000)
  t.equal(channelFactsOf([MADE, update('2000')])?.settlingAtEpoch, null, 'it does not begin one')
  t.equal(channelFactsOf([MADE, settle, collectChannel({ height: 1500, to: TO })])?.collectedEpoch, 1500)
  t.end()
})
