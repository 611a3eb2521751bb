import fc from 'fast-check'
import t from 'tap'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import {
  continuesChannel,
  evolveChannel,
  foldChannel,
  type Channel,
} from '../../../../shared/channels/channel.evolve.ts'
import { partOf } from '../../../../shared/channels/channel-parts.evolve.ts'
import { recordsOf } from '../../../../shared/channels/channel-records.evolve.ts'
import { STRENGTH } from '../../../../indexer/projections/links/link.evolve.ts'
import type { FilecoinEvent, VoucherFacts } from '../../../../shared/events/filecoin-event.ts'
import type { LogEntry } from '../../../../shared/events/log-entry.ts'
import { naturalKey } from '../../../../shared/events/natural-key.ts'
import {
  collectChannel,
  fundChannel,
  identity,
  makeChannel,
  settleChannel,
  signedVoucher,
  updateChannel,
  voucherFacts,
} from '../../../helpers/channel-events.ts'
import { loanWithHashB1 } from '../../../helpers/loan-facts.ts'
import { channelAddress, person } from '../../../helpers/two-chain-stories.ts'

const BORROWER = person('borrower')
const LENDER = person('lender')
const ROBUST = channelAddress('the channel')
const HASH = `0x${'b1'.repeat(32)}`
const SECRET = '0x6231'
const LOAN = loanWithHashB1(HASH)
const MADE = makeChannel({
  height: 1,
  channel: ROBUST,
  channelId: 't07',
  from: BORROWER,
  recipient: LENDER,
})

function payback(key: string, given: Partial<VoucherFacts> = {}): VoucherFacts {
  return voucherFacts({ key, channelAddr: ROBUST, secretHash: HASH, ...given })
}

function handedIn(voucher: VoucherFacts): FilecoinEvent {
  return signedVoucher(ROBUST, BORROWER.asWritten, voucher)
}

function redeemed(height: number, voucher: VoucherFacts): FilecoinEvent {
  return updateChannel({ height, to: ROBUST, voucher, sender: LENDER, secret: SECRET })
}

function entriesOf(events: FilecoinEvent[]): LogEntry[] {
  const network = { network: 'filecoin:testnet', blockchain: 'FIL' }
  return planEntries(network, [], events, null).map((entry, index): LogEntry => ({
    ...entry,
    position: index + 1,
    step: 1,
    recordedAt: new Date(0),
  }))
}

/** One entry after the other, as it is while everything continues the channel. */
function foldInOrder(events: FilecoinEvent[]): Channel | undefined {
  return entriesOf([MADE, ...events]).reduce<Channel | undefined>((channel, entry) => {
    if (channel !== undefined && !continuesChannel(channel, [entry])) throw new Error('does not continue')
    return evolveChannel(channel, entry)
  }, undefined)
}

/** The log's entries as they are read for a fold anew: the chain's before those handed in. */
function foldAnew(events: FilecoinEvent[]): Channel | undefined {
  const entries = entriesOf([MADE, ...events])
  const isOffchain = ({ event }: LogEntry): boolean => event?.kind === 'SignedVoucher'
  return foldChannel([...entries.filter((one) => !isOffchain(one)), ...entries.filter(isOffchain)])
}

function shown(channel: Channel | undefined) {
  if (channel === undefined) throw new Error('no channel')
  const { loanType, loanId } = LOAN
  const link = { loanType, loanId, role: 'payback', strength: STRENGTH.secretHash } as const
  const side = { id: 1, facts: LOAN, borrower: null, lender: null, secretA1: null, secretB1: null }
  const records = recordsOf(channel, link, LOAN).map(({ event, txHash }) => `${event} ${txHash}`)
  const { part } = partOf('payback', channel, { ...side, principalAmount: null }, 'testnet')
  return { records: records.sort(), part }
}

void t.test('a message continues a channel only behind its last one; what is handed in has no place', (t) => {
  const channel = foldInOrder([redeemed(5, payback('aa'))])
  if (channel === undefined) throw new Error('no channel')
  const continues = (event: FilecoinEvent): boolean => continuesChannel(channel, entriesOf([event]))
  t.ok(continues(redeemed(6, payback('bb'))))
  t.notOk(continues(redeemed(4, payback('bb'))))
  t.notOk(continues(MADE))
  t.ok(continues(handedIn(payback('bb'))))
  t.end()
})

void t.test('a channel and what was redeemed from it carry the keys of their events', (t) => {
  const redemption = redeemed(5, payback('aa'))
  const channel = foldAnew([redemption])
  t.equal(channel?.key, naturalKey(MADE))
  t.same(
    channel?.redemptions.map(({ key }) => key),
    [naturalKey(redemption)],
  )
  t.end()
})

void t.test('without a creation there is no channel', (t) => {
  t.equal(foldChannel([]), undefined)
  t.equal(foldChannel(entriesOf([fundChannel({ height: 11, to: ROBUST })])), undefined)
  t.end()
})

void t.test('funds add up, whatever message brought them', (t) => {
  const update = { ...redeemed(12, payback('aa')), value: '7' }
  const funds = fundChannel({ height: 11, to: ROBUST, value: '20' })
  const settle = { ...settleChannel({ height: 13, to: ROBUST }), value: '3' }
  t.equal(foldAnew([funds, update, settle])?.deposits, '1000000000000000030')
  t.end()
})

void t.test('the sender of a redemption did not sign it, whatever name the message uses', (t) => {
  const signer = (sender: ReturnType<typeof identity>) =>
    foldAnew([updateChannel({ height: 12, to: ROBUST, voucher: payback('aa'), sender })])?.redemptions[0]
      ?.signedBy
  t.equal(signer(LENDER), 'from')
  t.equal(signer(BORROWER), 'recipient')
  t.equal(signer(identity(`f${BORROWER.asWritten.slice(1)}`)), 'recipient')
  t.equal(signer(person('stranger')), null)
  t.end()
})

void t.test('a later minimum height defers the settlement, an earlier one does not', (t) => {
  const settle = settleChannel({ height: 20, to: ROBUST, settlingAtEpoch: 1460 })
  const update = (height: number, minSettleHeight: string) =>
    redeemed(height, payback('aa', { minSettleHeight }))
  const settlingAt = (...events: FilecoinEvent[]) => foldAnew(events)?.settlement?.settlingAtEpoch
  t.equal(settlingAt(settle), 1460)
  t.equal(settlingAt(settle, update(30, '1000')), 1460)
  t.equal(settlingAt(settle, update(30, '2000')), 2000)
  t.equal(settlingAt(update(10, '2000'), settle), 2000)
  t.equal(settlingAt(update(30, '2000')), undefined, 'it does not begin one')
  t.equal(foldAnew([settle, collectChannel({ height: 1500, to: ROBUST })])?.collection?.epoch, 1500)
  t.end()
})

void t.test('of vouchers with one lane and nonce the redeemed one counts, whichever was known first', (t) => {
  const [redeemable, other] = [payback('aa', { amount: '1' }), payback('bb', { amount: '2' })]
  const orders = [
    [handedIn(redeemable), handedIn(other), redeemed(5, redeemable)],
    [handedIn(other), redeemed(5, redeemable)],
    [redeemed(5, redeemable), handedIn(other)],
    [redeemed(5, redeemable), handedIn(other), handedIn(redeemable)],
  ]
  for (const events of orders) {
    for (const fold of [foldInOrder, foldAnew]) {
      const { records, part } = shown(fold(events))
      t.match(part, { signedVoucher: redeemable.text, secretB1: 'b1', state: '2' })
      t.equal(records.filter((record) => record.startsWith('LendFIL/SignPaybackVoucher')).length, 1)
    }
  }
  const before = [handedIn(redeemable), handedIn(other)]
  for (const events of [before, [...before].reverse()]) {
    t.equal(
      shown(foldInOrder(events)).part['signedVoucher'],
      other.text,
      'before that, the one with the greater key',
    )
  }
  t.end()
})

void t.test(
  'a voucher that was handed in with another signature than the redeemed one is one with it',
  (t) => {
    const onChain = payback('aa')
    const twin = { ...onChain, text: 'text-with-the-twin' }
    for (const events of [
      [handedIn(twin), redeemed(5, onChain)],
      [redeemed(5, onChain), handedIn(twin)],
    ]) {
      for (const fold of [foldInOrder, foldAnew]) {
        const { records, part } = shown(fold(events))
        t.equal(part['signedVoucher'], onChain.text)
        t.same(
          records.filter((record) => record.startsWith('LendFIL/SignPaybackVoucher')),
          [`LendFIL/SignPaybackVoucher ${onChain.text ?? ''}`],
        )
      }
    }
    t.end()
  },
)

void t.test('a secret that one voucher made public is known for every later one with its hash', (t) => {
  const [first, second] = [payback('aa', { nonce: '1' }), payback('bb', { nonce: '2' })]
  const { part } = shown(foldInOrder([redeemed(5, first), handedIn(second)]))
  t.match(part, { signedVoucher: second.text, secretB1: 'b1' })
  t.end()
})

void t.test('what a channel shows does not depend on when its vouchers were handed in', (t) => {
  const vouchers = ['a', 'b', 'c', 'd', 'e'].map((key, index) =>
    payback(key, { nonce: String(index >> 1), lane: String((index % 3) >> 1), amount: String(index) }),
  )
  const chain = [
    redeemed(5, payback('a', { amount: '0', text: 'as-redeemed' })),
    settleChannel({ height: 6, to: ROBUST }),
  ]
  const offchain = vouchers.map(handedIn)
  const wanted = shown(foldAnew([...chain, ...offchain]))
  const places = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 7, maxLength: 7 })
  fc.assert(
    fc.property(places, (at) => {
      const inChain = at.slice(0, chain.length).sort((a, b) => a - b)
      const order = [...chain, ...offchain]
        .map((event, index) => ({ event, at: inChain[index] ?? at[index] ?? 0 }))
        .sort((a, b) => a.at - b.at)
      t.same(shown(foldInOrder(order.map(({ event }) => event))), wanted)
    }),
  )
  t.end()
})
