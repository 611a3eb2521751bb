import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Wallet } from '../../devnet/filecoin/lotus.ts'
import { codeOf } from '../../devnet/filecoin/actors/actor-codes.ts'
import { signVoucher } from '../../devnet/filecoin/channel-actions.ts'
import { encodeAddress, parseAddress, type FilecoinAddress } from '../../shared/filecoin/address.ts'
import { concatBytes } from '../../shared/filecoin/bytes.ts'
import { encodeCbor } from '../../shared/filecoin/cbor.ts'
import { voucherText } from '../../shared/filecoin/voucher.ts'
import { encodeExecParams } from '../../devnet/filecoin/codec.ts'

/** Attacks on the indexer's decoders: none of it decodes as the type it claims. */

const bytes = (...parts: (number[] | Uint8Array)[]): Uint8Array =>
  concatBytes(...parts.map((part) => Uint8Array.from(part)))

const addressOf = (text: string): FilecoinAddress => {
  const address = parseAddress(text)
  if (address === null) throw new Error(`${text} is no address`)
  return address
}

/** Encodes a voucher's tuple by hand, so that each field can be anything. */
function voucherBytes(channel: string, fields: Record<number, unknown> = {}): Uint8Array {
  const usual: unknown[] = [encodeAddress(addressOf(channel)), 0n, 0n, new Uint8Array(), null, 0n, 1n]
  const tuple = [...usual, Uint8Array.of(0, 1), 0n, [], Uint8Array.of(1, ...new Uint8Array(65))]
  return encodeCbor(tuple.map((field, index) => (index in fields ? fields[index] : field)))
}

const withSecret = (voucher: Uint8Array, secret = new Uint8Array()): Uint8Array =>
  bytes([0x82], voucher, encodeCbor(secret))

/** A sign byte and the magnitude of a number of a thousand digits. */
const THOUSAND_DIGITS = Buffer.from(`00${(10n ** 999n).toString(16).padStart(832, '0')}`, 'hex')

/** An array of this many merges, three bytes each. */
function manyMerges(count: number): Uint8Array {
  const head = Uint8Array.of(0x9a, count >>> 24, (count >>> 16) & 255, (count >>> 8) & 255, count & 255)
  const merge = [0x82, 0x01, 0x01]
  return bytes(
    head,
    Uint8Array.from({ length: count * 3 }, (_, index) => merge[index % 3] ?? 0),
  )
}

/** The merges are the second-to-last item of the tuple, an empty array (0x80). */
function withManyMerges(voucher: Uint8Array, count: number): Uint8Array {
  const at = voucher.length - 2 - 66 - 1
  if (voucher[at] !== 0x80) throw new Error('the merges are elsewhere')
  return bytes(voucher.subarray(0, at), manyMerges(count), voucher.subarray(at + 1))
}

/** Parameters of method 2, by defect. */
export function hostileUpdates(channel: string): Record<string, Uint8Array> {
  const good = withSecret(voucherBytes(channel))
  return {
    nothing: new Uint8Array(),
    garbage: new Uint8Array(50).fill(0xff),
    truncated: good.subarray(0, good.length - 7),
    'one byte too many': bytes(good, [0]),
    'an array without end': bytes([0x9f], good.subarray(1), [0xff]),
    'ten thousand levels': new Uint8Array(10_000).fill(0x81),
    'a length that lies': Uint8Array.of(0x82, 0x5b, ...new Uint8Array(8).fill(0x7f)),
    'text that is no UTF-8': Uint8Array.of(0x82, 0x63, 0xff, 0xfe, 0xfd, 0x40),
    'a map': Uint8Array.of(0xa1, 0x01, 0x02),
    'a float': Uint8Array.of(0x82, 0xfb, ...new Uint8Array(8), 0x40),
    'a thousand digits': withSecret(voucherBytes(channel, { 7: THOUSAND_DIGITS })),
    'a secret of 257 bytes': withSecret(voucherBytes(channel), new Uint8Array(257).fill(7)),
    'a secret hash of a thousand bytes': withSecret(voucherBytes(channel, { 3: new Uint8Array(1000) })),
    'a channel that is no address': withSecret(voucherBytes(channel, { 0: Uint8Array.of(9, 9, 9) })),
    'a signature of no kind': withSecret(voucherBytes(channel, { 10: Uint8Array.of(77) })),
    'a megabyte of merges': withSecret(withManyMerges(voucherBytes(channel), 350_000)),
    'a megabyte of nothing': new Uint8Array(1_000_000),
  }
}

/** Parameters of Init's Exec that name a payment channel's code. */
export function hostileExecs(): Record<string, Uint8Array> {
  const code = codeOf('paymentchannel')
  return {
    'parties that are garbage': encodeExecParams(code, new Uint8Array(40).fill(0xff)),
    'no parties': encodeExecParams(code, new Uint8Array()),
    'a party that is no address': encodeExecParams(code, encodeCbor([Uint8Array.of(9), Uint8Array.of(9)])),
  }
}

/** Vouchers as queue text, with the reason of each refusal. */
export function hostileVouchers(
  channel: string,
  owner: Wallet,
  stranger: Wallet,
): Record<string, { data: unknown; reason: RegExp }> {
  const text = (fields: Parameters<typeof signVoucher>[1], by = owner): string =>
    voucherText(signVoucher(by, fields))
  const base64 = (some: Uint8Array): string => Buffer.from(some).toString('base64')
  const usual = { channelAddr: channel, amount: 1n }
  const voucher = (data: unknown, reason: RegExp) => ({ data: { voucher: data }, reason })
  let deep: unknown = []
  for (let level = 0; level < 500; level += 1) deep = [deep]
  const merges = Array.from({ length: 65 }, (_, lane) => ({ lane: BigInt(lane + 1), nonce: 1n }))
  const statement = (message: string) => ({ data: { statement: { message, signature: '00'.repeat(65) } } })
  return {
    'a-number': voucher(5, /voucher/),
    nothing: { data: {}, reason: /voucher.*statement/ },
    both: { data: { voucher: 'x', statement: {} }, reason: /voucher.*statement/ },
    deep: { data: { voucher: deep }, reason: /voucher/ },
    'no-base64': voucher('not base64 \u0000 \ud800 at all', /./),
    empty: voucher('', /voucher/),
    'a-megabyte': voucher(base64(new Uint8Array(1_000_000)), /longer than/),
    'megabyte-of-merges': voucher(base64(withManyMerges(voucherBytes(channel), 350_000)), /longer than/),
    truncated: voucher(base64(voucherBytes(channel).subarray(0, 60)), /CBOR|voucher/),
    garbage: voucher(base64(new Uint8Array(64).fill(0xff)), /CBOR/),
    'thousand-digits': voucher(base64(voucherBytes(channel, { 7: THOUSAND_DIGITS })), /128 bytes/),
    unsigned: voucher(base64(voucherBytes(channel, { 10: null })), /not signed/),
    negative: voucher(text({ ...usual, amount: -1n }), /negative/),
    'far-lane': voucher(text({ ...usual, lane: (1n << 64n) - 1n }), /lane .* beyond/),
    'odd-hash': voucher(text({ ...usual, secretHash: new Uint8Array(31) }), /31 bytes/),
    'many-merges': voucher(text({ ...usual, merges }), /65 lanes/),
    'own-lane': voucher(text({ ...usual, merges: [{ lane: 0n, nonce: 1n }] }), /its own lane/),
    never: voucher(text({ ...usual, timeLockMin: 9n, timeLockMax: 8n }), /never/),
    stranger: voucher(text(usual, stranger), /neither party/),
    'other-network': { data: { voucher: text(usual), network: 'mainnet' }, reason: /mainnet/ },
    'a-field-too-many': { data: { voucher: text(usual), admin: true }, reason: /./ },
    'of-an-account': voucher(text({ ...usual, channelAddr: owner.address }), /no address of an actor/),
    'statement-garbage': { ...statement('\u0000\ud800{'), reason: /statement/ },
    'statement-empty': { ...statement('{}'), reason: /statement/ },
    'statement-endless': { ...statement('['.repeat(16_000)), reason: /statement/ },
  }
}

/** JSON texts of the node's own store: numbers that JavaScript cannot hold keep their digits. */
export function hostileStoredVouchers(channel: string): string[] {
  const json = (fields: Record<string, string>): string => {
    const usual: Record<string, string> = {
      ...{ ChannelAddr: JSON.stringify(channel), TimeLockMin: '0', TimeLockMax: '0', SecretHash: 'null' },
      ...{ Extra: 'null', Lane: '0', Nonce: '1', Amount: '"1"', MinSettleHeight: '0', Merges: 'null' },
      Signature: `{"Type":1,"Data":"${Buffer.alloc(65, 1).toString('base64')}"}`,
    }
    return `{${Object.entries({ ...usual, ...fields })
      .map(([name, value]) => `"${name}":${value}`)
      .join()}}`
  }
  return [
    'null',
    '"a text"',
    json({ Amount: `"${'9'.repeat(1000)}"` }),
    json({ Lane: '18446744073709551615' }),
    json({ Nonce: '184467440737095516150' }),
    json({ Merges: `[${'{"Lane":1,"Nonce":1},'.repeat(40_000)}{"Lane":1,"Nonce":1}]` }),
    json({ ChannelAddr: '"t0"' }),
    json({ SecretHash: '"\\u0000%"' }),
    json({}),
  ]
}

/** Bytes that contracts accept as an address or a secret. */
export const HOSTILE_TEXTS: Record<string, Uint8Array> = {
  nothing: new Uint8Array(),
  'zero bytes': new Uint8Array(32),
  'no UTF-8': Uint8Array.of(0xff, 0xfe, 0xc0, 0x80),
  'half a surrogate pair': Uint8Array.of(0xed, 0xa0, 0x80),
  'a zero inside': utf8ToBytes('t1\u0000abc'),
  '256 bytes': new Uint8Array(256).fill(0x9d),
  markup: utf8ToBytes('<script>alert("\u2028")</script>\\u0000'),
}
