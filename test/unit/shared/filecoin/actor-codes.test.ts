import t from 'tap'
import { CID } from 'multiformats/cid'
import { isPaymentChannelCode, PAYMENT_CHANNEL_CODES } from '../../../../shared/filecoin/actor-codes.ts'
import { parseCid } from '../../../../shared/filecoin/block-cid.ts'

const IDENTITY = 0
const BLAKE2B_256 = 0xb220

void t.test('30 codes, each a CID as nodes print it, none twice', (t) => {
  t.equal(PAYMENT_CHANNEL_CODES.length, 30)
  t.equal(new Set(PAYMENT_CHANNEL_CODES).size, 30)
  for (const code of PAYMENT_CHANNEL_CODES) t.not(parseCid(code), null, code)
  t.end()
})

void t.test('codes of the first versions spell their names, the later ones are hashes', (t) => {
  const names = PAYMENT_CHANNEL_CODES.map((code) => CID.parse(code).multihash)
  t.strictSame(
    names.slice(0, 7).map(({ digest }) => new TextDecoder().decode(digest)),
    [1, 2, 3, 4, 5, 6, 7].map((version) => `fil/${version}/paymentchannel`),
  )
  t.ok(names.slice(0, 7).every(({ code }) => code === IDENTITY))
  t.ok(names.slice(7).every(({ code }) => code === BLAKE2B_256))
  t.end()
})

void t.test('another actor is no channel', (t) => {
  t.equal(isPaymentChannelCode('bafkqadtgnfwc6mjpnv2wy5djonuwo'), false, 'a multisig of version 0')
  t.equal(isPaymentChannelCode(''), false)
  t.ok(PAYMENT_CHANNEL_CODES.every(isPaymentChannelCode))
  t.end()
})
