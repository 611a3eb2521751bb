import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import t from 'tap'
import { verifyVoucher, type Verdict } from '../../../../indexer/ingest/verify-voucher.ts'
import { idAddress } from '../../../../shared/filecoin/address.ts'
import { voucherKey, voucherText, type SignedVoucher } from '../../../../shared/filecoin/voucher.ts'
import {
  BORROWER,
  knownChannel,
  CHANNEL_ID,
  identityOf,
  keyOf,
  LENDER,
  sign,
  textOf,
  unsignedVoucher,
} from '../../../helpers/signed-vouchers.ts'
import { cases } from '../../../helpers/cases.ts'
import { actorAddress } from '../../../../devnet/filecoin/codec.ts'

const MAX_LANE = 2n ** 63n - 1n
const STRANGER = keyOf('stranger')

function verify(voucher: SignedVoucher, channel = knownChannel()): Verdict {
  return verifyVoucher(voucher, channel, 't')
}

void t.test('either party may sign, with either kind of key', (t) => {
  t.match(verify(sign(unsignedVoucher())), { ok: true, signer: textOf(BORROWER), signedBy: 'from' })
  t.match(verify(sign(unsignedVoucher(), LENDER)), {
    ok: true,
    signer: textOf(LENDER),
    signedBy: 'recipient',
  })
  const swapped = knownChannel({ from: identityOf(LENDER), recipient: identityOf(BORROWER) })
  t.match(verify(sign(unsignedVoucher(), LENDER), swapped), { ok: true, signedBy: 'from' })
  t.match(verify(sign(unsignedVoucher()), swapped), { ok: true, signedBy: 'recipient' })
  t.end()
})

void t.test('a party is known by any of its names', (t) => {
  const byId = { asWritten: 't0100', id: 't0100', robust: [textOf(BORROWER)] }
  t.match(verify(sign(unsignedVoucher()), knownChannel({ from: byId })), { ok: true, signedBy: 'from' })
  const otherLetter = {
    asWritten: textOf(BORROWER).replace(/^t/, 'f'),
    id: null,
    robust: [],
  }
  t.match(verify(sign(unsignedVoucher()), knownChannel({ from: otherLetter })), { ok: true })
  const unknown = { asWritten: 't0100', id: 't0100', robust: [] }
  t.match(verify(sign(unsignedVoucher()), knownChannel({ from: unknown })), {
    ok: false,
    reason: /neither party/,
    mayChange: false,
  })
  t.end()
})

void t.test('the facts are the voucher’s', (t) => {
  const voucher = sign(unsignedVoucher({ lane: 3n, nonce: 2n ** 64n - 1n, timeLockMax: 1_700_000_000n }))
  const verdict = verify(voucher)
  t.match(verdict, {
    ok: true,
    facts: {
      key: voucherKey(voucher),
      text: voucherText(voucher),
      lane: '3',
      nonce: '18446744073709551615',
      amount: '500',
      timeLockMax: '1700000000',
      secretHash: `0x${'07'.repeat(32)}`,
    },
  })
  t.end()
})

const REFUSED: [string, SignedVoucher, RegExp, boolean][] = [
  ['unsigned', unsignedVoucher(), /not signed/, false],
  ['of a stranger', sign(unsignedVoucher(), STRANGER), /neither party/, false],
  [
    'another channel',
    sign(unsignedVoucher({ channelAddr: actorAddress(Uint8Array.of(1)) })),
    /names the channel f2/,
    false,
  ],
  ['another ID', sign(unsignedVoucher({ channelAddr: idAddress(1235n) })), /names the channel f01235/, false],
  ['lane', sign(unsignedVoucher({ lane: MAX_LANE + 1n })), /lane .* beyond/, false],
  ['secret hash', sign(unsignedVoucher({ secretHash: new Uint8Array(31) })), /31 bytes/, false],
  ['long secret hash', sign(unsignedVoucher({ secretHash: new Uint8Array(33) })), /33 bytes/, false],
  ['negative', sign(unsignedVoucher({ amount: -1n })), /negative/, false],
  ['too much', sign(unsignedVoucher({ amount: 501n })), /more than the channel ever held \(500\)/, true],
  ['ended before', sign(unsignedVoucher({ timeLockMax: 999n })), /ended at epoch 999/, false],
  ['never', sign(unsignedVoucher({ timeLockMin: 3000n, timeLockMax: 2999n })), /never/, false],
  ['own lane', sign(unsignedVoucher({ merges: [{ lane: 0n, nonce: 1n }] })), /own lane/, false],
  [
    'merges',
    sign(
      unsignedVoucher({ merges: Array.from({ length: 65 }, (_, i) => ({ lane: BigInt(i + 1), nonce: 1n })) }),
    ),
    /merges 65/,
    false,
  ],
]

void t.test('what the actor never takes is refused with the reason', (t) => {
  for (const [name, voucher, reason, mayChange] of REFUSED) {
    t.match(verify(voucher), { ok: false, reason, mayChange }, name)
  }
  t.end()
})

void t.test('what is just within the rules is taken', (t) => {
  const good: Partial<SignedVoucher>[] = [
    { channelAddr: idAddress(CHANNEL_ID) },
    { lane: MAX_LANE },
    { secretHash: new Uint8Array(0) },
    { amount: 0n },
    { timeLockMax: 1000n },
    { timeLockMin: 5_000_000n },
    { nonce: 0n },
    { merges: [{ lane: 1n, nonce: 1n }] },
  ]
  for (const given of good)
    t.equal(verify(sign(unsignedVoucher(given))).ok, true, JSON.stringify(given, text))
  t.end()
})

void t.test('a settled channel takes nothing at and after its height, a collected one nothing ever', (t) => {
  const settling = knownChannel({ settlingAtEpoch: 2440 })
  t.match(verify(sign(unsignedVoucher({ timeLockMin: 2439n })), settling), { ok: true })
  t.match(verify(sign(unsignedVoucher({ timeLockMin: 2440n })), settling), { ok: false, mayChange: true })
  const collected = knownChannel({ settlingAtEpoch: 2440, collectedEpoch: 2500 })
  t.match(verify(sign(unsignedVoucher({ timeLockMin: 2439n })), collected), { ok: true })
  t.match(verify(sign(unsignedVoucher({ timeLockMin: 2440n })), collected), { ok: false, mayChange: false })
  t.match(verify(sign(unsignedVoucher({ timeLockMin: 2501n })), collected), {
    ok: false,
    reason: /collected/,
  })
  t.match(verify(sign(unsignedVoucher({ amount: 501n })), collected), { ok: false, mayChange: false })
  t.end()
})

void t.test('what was redeemed in its place refuses it; what was redeemed since does not', (t) => {
  const voucher = sign(unsignedVoucher())
  const slot = { lane: 0n, nonce: 1n }
  const redeemed = (key: string, nonce: bigint, signedBy: 'from' | 'recipient' | null): Verdict =>
    verify(voucher, knownChannel({ redeemed: [{ ...slot, nonce, key, signedBy }] }))
  t.match(redeemed('other', 1n, 'from'), { ok: false, reason: /lane 0 and nonce 1/, mayChange: false })
  t.match(redeemed(voucherKey(voucher), 1n, 'from'), { ok: true }, 'this very voucher')
  t.match(redeemed('other', 1n, 'recipient'), { ok: true }, 'the other party’s')
  t.match(redeemed('other', 9n, 'from'), { ok: true }, 'a later nonce: there was a moment before')
  t.end()
})

void t.test('a malleable twin of a signature is the same voucher', (t) => {
  const voucher = sign(unsignedVoucher())
  const data = voucher.signature?.data ?? new Uint8Array()
  const s = BigInt(`0x${Buffer.from(data.subarray(32, 64)).toString('hex')}`)
  const twinS = (secp256k1.Point.Fn.ORDER - s).toString(16).padStart(64, '0')
  const twinData = Uint8Array.from([
    ...data.subarray(0, 32),
    ...Buffer.from(twinS, 'hex'),
    (data[64] ?? 0) ^ 1,
  ])
  const twin: SignedVoucher = { ...voucher, signature: { type: 1, data: twinData } }
  t.not(voucherText(twin), voucherText(voucher))
  const [one, two] = [verify(voucher), verify(twin)]
  const names = [one, two].map((verdict) => (verdict.ok ? [verdict.facts.key, verdict.signer] : verdict))
  t.same(names, [
    [voucherKey(voucher), textOf(BORROWER)],
    [voucherKey(voucher), textOf(BORROWER)],
  ])
  t.end()
})

void t.test('a changed voucher or signature never verifies', (t) => {
  const kinds = [sign(unsignedVoucher()), sign(unsignedVoucher(), LENDER)]
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      (voucher, at, change, inSignature) => {
        const data = Uint8Array.from(voucher.signature?.data ?? [])
        // A recovery id other than its own gives another key or none.
        const index = at % data.length
        if (inSignature) data[index] = (data[index] ?? 0) ^ change
        const changed: SignedVoucher = {
          ...voucher,
          amount: inSignature ? voucher.amount : voucher.amount - BigInt(change),
          signature: { type: voucher.signature?.type ?? 1, data },
        }
        return !verify(changed).ok
      },
    ),
    { numRuns: cases(60) },
  )
  t.end()
})

function text(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
