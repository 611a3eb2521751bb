import fc from 'fast-check'
import t from 'tap'
import { toSend, verifyChannelState } from '../../../../indexer/cli/verify-channel-state.ts'
import { foldChannel, type Redemption } from '../../../../shared/channels/channel.evolve.ts'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import type { SignedVoucher } from '../../../../shared/filecoin/voucher.ts'
import { voucherFacts } from '../../../../shared/filecoin/voucher-facts.ts'
import { fundChannel, makeChannel, settleChannel } from '../../../helpers/channel-events.ts'
import { channelAddress, person } from '../../../helpers/two-chain-stories.ts'
import { actorAddress } from '../../../../devnet/filecoin/codec.ts'

const ROBUST = channelAddress('audited')
const FROM = person('from')
const TO = person('to')

function redemption(given: Partial<SignedVoucher>): Redemption {
  const voucher: SignedVoucher = {
    channelAddr: actorAddress(new Uint8Array([1])),
    timeLockMin: 0n,
    timeLockMax: 0n,
    secretHash: new Uint8Array(),
    extra: null,
    lane: 0n,
    nonce: 1n,
    amount: 0n,
    minSettleHeight: 0n,
    merges: [],
    signature: null,
    ...given,
  }
  return { key: 'k', cid: 'c', epoch: 1, facts: voucherFacts(voucher, 't'), signedBy: 'from', secret: null }
}

void t.test('a lane’s vouchers are totals, and what merged lanes were paid counts', (t) => {
  t.equal(toSend([]), 0n)
  t.equal(toSend([redemption({ amount: 5n }), redemption({ amount: 7n, nonce: 2n })]), 7n)
  t.equal(toSend([redemption({ amount: 5n }), redemption({ amount: 0n, nonce: 2n })]), 0n, 'a lane made void')
  const merging = redemption({ lane: 1n, amount: 9n, merges: [{ lane: 0n, nonce: 3n }] })
  t.equal(toSend([redemption({ amount: 5n }), merging]), 9n)
  const whole = redemption({})
  t.equal(toSend([{ ...whole, facts: { ...whole.facts, text: null } }]), null)
  t.end()
})

void t.test('without merges, what is sent is the sum of the lanes’ last totals', (t) => {
  const steps = fc.array(fc.record({ lane: fc.bigInt(0n, 3n), amount: fc.bigInt(0n, 1000n) }))
  fc.assert(
    fc.property(steps, (vouchers) => {
      const last = new Map(vouchers.map(({ lane, amount }) => [lane, amount]))
      const wanted = [...last.values()].reduce((sum, amount) => sum + amount, 0n)
      t.equal(toSend(vouchers.map(redemption)), wanted)
    }),
  )
  t.end()
})

void t.test('every field that differs from the node’s is told', (t) => {
  const events = [
    makeChannel({ height: 1, channel: ROBUST, channelId: 't01000', from: FROM, recipient: TO, value: '5' }),
    fundChannel({ height: 2, to: ROBUST, value: '3' }),
    settleChannel({ height: 3, to: ROBUST }),
  ]
  const entries = planEntries({ network: 'filecoin:testnet', blockchain: 'FIL' }, [], events, null)
  const channel = foldChannel(
    entries.map((entry, index) => ({ ...entry, position: index + 1, step: 1, recordedAt: new Date(0) })),
  )
  if (channel === undefined) throw new Error('no channel')
  const right = {
    id: 't01000',
    from: FROM.id ?? '',
    to: TO.id ?? '',
    balance: '8',
    toSend: '0',
    settlingAt: 1443,
  }
  t.same(verifyChannelState(channel, right), [])
  const wrong = { id: 't01001', from: 't0101', to: 't0102', balance: '5', toSend: '1', settlingAt: 0 }
  for (const [field, value] of Object.entries(wrong))
    t.match(verifyChannelState(channel, { ...right, [field]: value }), [{ field, onChain: String(value) }])
  t.end()
})
