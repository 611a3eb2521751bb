import t from 'tap'
import { foldChannel, type Channel } from '../../../../shared/channels/channel.evolve.ts'
import { compareRights } from '../../../../indexer/projections/channels/rightful-channel.evolve.ts'
import {
  STRENGTH,
  type ChannelRole,
  type Strength,
} from '../../../../indexer/projections/links/link.evolve.ts'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import type { FilecoinEvent } from '../../../../shared/events/filecoin-event.ts'
import {
  collectChannel,
  identity,
  makeChannel,
  settleChannel,
  signedVoucher,
  updateChannel,
  voucherFacts,
} from '../../../helpers/channel-events.ts'
import { loanWithHashB1 } from '../../../helpers/loan-facts.ts'
import { channelAddress, person } from '../../../helpers/two-chain-stories.ts'

const FROM = person('from')
const RECIPIENT = person('recipient')
const HASH = `0x${'b1'.repeat(32)}`
const LOAN = loanWithHashB1(HASH)

type Fate = 'made' | 'signed' | 'redeemed' | 'settled' | 'redeemed, collected' | 'collected'

function channel(fate: Fate, height: number): Channel {
  const robust = channelAddress(`${fate} at ${height}`)
  const parties = { from: FROM, recipient: RECIPIENT }
  const facts = voucherFacts({ key: robust, channelAddr: robust, secretHash: HASH, amount: '1' })
  const signed = signedVoucher(robust, FROM.asWritten, facts)
  const redeemed = updateChannel({ height: height + 1, to: robust, voucher: facts, sender: RECIPIENT })
  const collected = collectChannel({ height: height + 3, to: robust, sender: identity('t1any') })
  const after: Record<Fate, FilecoinEvent[]> = {
    made: [],
    signed: [signed],
    redeemed: [redeemed],
    settled: [signed, settleChannel({ height: height + 2, to: robust })],
    'redeemed, collected': [redeemed, settleChannel({ height: height + 2, to: robust }), collected],
    collected: [collected],
  }
  const made = makeChannel({ height, channel: robust, channelId: `t0${height}`, ...parties })
  const network = { network: 'filecoin:testnet', blockchain: 'FIL' }
  const entries = planEntries(network, [], [made, ...after[fate]], null)
  const at = (index: number) => ({ position: index + 1, step: 1, recordedAt: new Date(0) })
  const folded = foldChannel(entries.map((entry, index) => ({ ...entry, ...at(index) })))
  if (folded === undefined) throw new Error('no channel')
  return folded
}

/** Of these channels (what became of it, made at, strength) in that place, in the order of their right to it. */
function inOrder(role: ChannelRole, ...claims: [Fate, number, Strength][]): string[] {
  const { loanType, loanId } = LOAN
  return claims
    .map(([fate, height, strength]) => ({
      label: `${fate} at ${height}`,
      channel: channel(fate, height),
      link: { loanType, loanId, role, strength },
    }))
    .sort((a, b) => compareRights(a, b, LOAN))
    .map(({ label }) => label)
}

const { contract, secretHash, parties } = STRENGTH

void t.test('the channel that the contract names comes first, whatever became of it', (t) => {
  t.same(inOrder('principal', ['made', 5, parties], ['collected', 7, contract]), [
    'collected at 7',
    'made at 5',
  ])
  t.end()
})

void t.test('one that was given up comes after one that lives, even by a weaker link', (t) => {
  t.same(inOrder('principal', ['settled', 5, secretHash], ['made', 7, parties]), [
    'made at 7',
    'settled at 5',
  ])
  t.same(inOrder('principal', ['collected', 5, parties], ['made', 7, parties]), [
    'made at 7',
    'collected at 5',
  ])
  t.end()
})

void t.test('one that was redeemed is not given up: the loan was paid back by it', (t) => {
  const paid: [Fate, number, Strength] = ['redeemed, collected', 5, secretHash]
  t.same(inOrder('payback', ['signed', 3, secretHash], ['made', 2, parties], paid), [
    'redeemed, collected at 5',
    'signed at 3',
    'made at 2',
  ])
  t.end()
})

void t.test('of equals one that is signed for, then the one that was made first', (t) => {
  const claims: [Fate, number, Strength][] = [
    ['made', 1, parties],
    ['signed', 5, parties],
    ['signed', 4, parties],
    ['redeemed', 9, parties],
  ]
  const wanted = ['redeemed at 9', 'signed at 4', 'signed at 5', 'made at 1']
  t.same(inOrder('payback', ...claims), wanted)
  t.same(inOrder('payback', ...claims.reverse()), wanted)
  t.end()
})
