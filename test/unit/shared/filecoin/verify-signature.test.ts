import { bls12_381 } from '@noble/curves/bls12-381.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import t from 'tap'
import { createKey } from '../../../../devnet/filecoin/keys.ts'
import {
  delegatedAddress,
  formatAddress,
  idAddress,
  parseAddress,
} from '../../../../shared/filecoin/address.ts'
import { blake2b256 } from '../../../../shared/filecoin/blake2b.ts'
import { recoverSecp256k1Address, verifySignature } from '../../../../shared/filecoin/verify-signature.ts'
import {
  voucherFromText,
  voucherKey,
  voucherSigningBytes,
  voucherText,
} from '../../../../shared/filecoin/voucher.ts'
import { ADDRESS, bytes, SIGNATURE } from '../../../helpers/filecoin-arbitraries.ts'
import { cases } from '../../../helpers/cases.ts'
import { blsAddress } from '../../../../devnet/filecoin/codec.ts'

const TEXT = new TextEncoder().encode('a statement')
const ALICE = createKey('secp256k1', Uint8Array.of(1))
const BOB = createKey('secp256k1', Uint8Array.of(2))
const CAROL = createKey('bls', Uint8Array.of(3))
const DAVE = createKey('bls', Uint8Array.of(4))

void t.test('keys come from their seed: pinned, so that a devnet plays the same again', (t) => {
  t.equal(formatAddress(ALICE.address, 't'), 't1kt66enrgvngf3asvxidikkn74vqde37n2mycqla')
  t.equal(
    formatAddress(createKey('bls', Uint8Array.of(1)).address, 't'),
    't3ufh6vfm2zjdvjzc5rrou5i2olcsfdrgndxmdshem32on5p3pcydwsusd5eclt5odavnqltpy76sczg5x4x5a',
  )
  t.not(formatAddress(ALICE.address, 't'), formatAddress(BOB.address, 't'))
  t.end()
})

void t.test('secp256k1: the signer’s own signature over these bytes and nothing else', (t) => {
  const signature = ALICE.sign(TEXT)
  t.equal(signature.data.length, 65)
  t.ok(verifySignature(TEXT, signature, ALICE.address))
  t.strictSame(recoverSecp256k1Address(TEXT, signature.data), ALICE.address)
  t.notOk(verifySignature(TEXT, signature, BOB.address))
  t.notOk(verifySignature(TEXT.subarray(1), signature, ALICE.address))
  t.notOk(verifySignature(TEXT, { ...signature, data: signature.data.slice(0, 64) }, ALICE.address))
  for (const recoveryId of [4, 27, 28, 255]) {
    const data = Uint8Array.from([...signature.data.subarray(0, 64), recoveryId])
    t.equal(recoverSecp256k1Address(TEXT, data), null, `recovery id ${recoveryId}`)
  }
  for (const at of [0, 31, 32, 63, 64]) {
    const data = signature.data.slice()
    data[at] = (data[at] ?? 0) ^ 1
    t.notOk(verifySignature(TEXT, { type: 1, data }, ALICE.address), `byte ${at} changed`)
  }
  t.end()
})

void t.test('BLS: the signer’s own signature over these bytes and nothing else', (t) => {
  const signature = CAROL.sign(TEXT)
  t.equal(signature.data.length, 96)
  t.ok(verifySignature(TEXT, signature, CAROL.address))
  t.notOk(verifySignature(TEXT, signature, DAVE.address))
  t.notOk(verifySignature(TEXT.subarray(1), signature, CAROL.address))
  t.notOk(verifySignature(TEXT, { type: 2, data: new Uint8Array(96) }, CAROL.address))
  t.notOk(verifySignature(TEXT, { type: 2, data: new Uint8Array(95) }, CAROL.address))
  t.notOk(verifySignature(TEXT, signature, blsAddress(new Uint8Array(48).fill(1))))
  t.end()
})

void t.test('as the published BLS vectors have it: over the bytes, in Filecoin’s domain', (t) => {
  // The hash of our signature, taken when the implementation reproduced the published signatures byte for byte.
  t.equal(
    Buffer.from(blake2b256(CAROL.sign(TEXT).data)).toString('hex'),
    '2d386a60cec7a903496732f7453750973e581905e4de4b285e4bea0c5eb81eef',
  )
  t.end()
})

void t.test('the point at infinity is nobody’s key', (t) => {
  const infinity = { key: bls12_381.G1.Point.ZERO.toBytes(true), sig: bls12_381.G2.Point.ZERO.toBytes(true) }
  t.notOk(verifySignature(TEXT, { type: 2, data: infinity.sig }, blsAddress(infinity.key)))
  t.notOk(verifySignature(TEXT, { type: 2, data: infinity.sig }, CAROL.address))
  t.end()
})

void t.test('the signer’s address decides the scheme, not the type byte', (t) => {
  t.ok(verifySignature(TEXT, { ...ALICE.sign(TEXT), type: 2 }, ALICE.address))
  t.ok(verifySignature(TEXT, { ...CAROL.sign(TEXT), type: 1 }, CAROL.address))
  t.notOk(verifySignature(TEXT, ALICE.sign(TEXT), CAROL.address))
  t.notOk(verifySignature(TEXT, CAROL.sign(TEXT), ALICE.address))
  t.notOk(verifySignature(TEXT, ALICE.sign(TEXT), idAddress(1n)))
  t.notOk(verifySignature(TEXT, ALICE.sign(TEXT), delegatedAddress(10n, new Uint8Array(20))))
  t.end()
})

void t.test('both twins of an ECDSA signature verify, and their vouchers are one', (t) => {
  const unsigned = voucherFromText('i0IAAQAAQPYAAEAAgPY=')
  const { data } = ALICE.sign(voucherSigningBytes(unsigned))
  const s = BigInt(`0x${Buffer.from(data.subarray(32, 64)).toString('hex')}`)
  const twinS = (secp256k1.Point.Fn.ORDER - s).toString(16).padStart(64, '0')
  const twinData = Uint8Array.from([
    ...data.subarray(0, 32),
    ...Buffer.from(twinS, 'hex'),
    (data[64] ?? 0) ^ 1,
  ])

  const one = { ...unsigned, signature: { type: 1 as const, data } }
  const twin = { ...unsigned, signature: { type: 1 as const, data: twinData } }
  for (const voucher of [one, twin]) {
    t.ok(verifySignature(voucherSigningBytes(voucher), voucher.signature, ALICE.address))
  }
  t.not(voucherText(one), voucherText(twin))
  t.equal(voucherKey(one), voucherKey(twin))
  t.end()
})

void t.test('whatever the signature and signer: false, and nothing is thrown', (t) => {
  fc.assert(
    fc.property(
      bytes(80),
      SIGNATURE,
      ADDRESS,
      (message, signature, signer) => !verifySignature(message, signature, signer),
    ),
  )
  fc.assert(
    fc.property(bytes(65, 65), (data) => {
      const address = recoverSecp256k1Address(TEXT, data)
      return address === null || parseAddress(formatAddress(address, 'f')) !== null
    }),
  )
  fc.assert(
    fc.property(bytes(96, 96), (data) => !verifySignature(TEXT, { type: 2, data }, CAROL.address)),
    { numRuns: cases(20) },
  )
  t.pass('held')
  t.end()
})
