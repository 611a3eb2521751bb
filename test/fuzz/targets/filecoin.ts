import {
  canonicalAddress,
  decodeAddress,
  encodeAddress,
  formatAddress,
  parseAddress,
  type FilecoinAddress,
} from '../../../shared/filecoin/address.ts'
import { decodeBigInt, encodeBigInt } from '../../../shared/filecoin/big-integer.ts'
import { decodeCbor, encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { DecodeError } from '../../../shared/filecoin/decode-error.ts'
import {
  decodeConstructorParams,
  decodeExecParams,
  decodeExecReturn,
} from '../../../shared/filecoin/init-actor.ts'
import { decodeLeb128, encodeLeb128 } from '../../../shared/filecoin/leb128.ts'
import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import { encodeMessage, messageCid } from '../../../shared/filecoin/message.ts'
import { decodeUpdateParams } from '../../../shared/filecoin/payment-channel.ts'
import {
  decodeVoucher,
  encodeVoucher,
  voucherFromText,
  voucherText,
} from '../../../shared/filecoin/voucher.ts'
import { PAYMENT_CHANNEL_CODES } from '../../../shared/filecoin/actor-codes.ts'
import { MILLION, must, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { hostileText, mutatedText } from '../hostile-text.ts'
import { bytesLike, hexOf, joined } from '../mutate-bytes.ts'
import { jsonLike } from '../mutate-json.ts'
import type { FuzzRandom } from '../random.ts'
import { lotusSample, sampleMessages, sampleVouchers } from '../samples.ts'
import {
  encodeConstructorParams,
  encodeExecParams,
  encodeExecReturn,
  decodeMessage,
  encodeUpdateParams,
} from '../../../devnet/filecoin/codec.ts'
import { parseCid } from '../../../shared/filecoin/block-cid.ts'
import { decodeSignature, encodeSignature } from '../../../shared/filecoin/signature.ts'

/** Bytes may cause no error but a DecodeError; null represents it. */
function orDecodeError<T>(decode: () => T): T | null {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/**
 * Generates CBOR: heads of any major type and length, nested to some depth, including forms that only hostile bytes
 * have.
 */
function randomCbor(random: FuzzRandom, depth: number): Uint8Array {
  const major = random.below(8)
  if (random.chance(0.02)) return Uint8Array.of((major << 5) | 31)
  const length = random.below(4)
  if (major === 4 && depth > 0)
    return joined(head(random, major, length), ...Array.from({ length }, () => randomCbor(random, depth - 1)))
  if (major === 2 || major === 3) return joined(head(random, major, length * 7), random.bytes(length * 7))
  if (major === 6)
    return joined(head(random, major, random.pick([42, 2, 258])), randomCbor(random, depth - 1))
  return head(random, major, random.pick([0, 1, 20, 22, 23, 24, 255, 256, 65_536, 2 ** 32, 2 ** 53, 2 ** 64]))
}

/** Encodes a head in the shortest form, or seldom in another. */
function head(random: FuzzRandom, major: number, value: number): Uint8Array {
  const sizes = [0, 1, 2, 4, 8]
  const shortest = value < 24 ? 0 : value < 256 ? 1 : value < 65_536 ? 2 : value < 2 ** 32 ? 4 : 8
  const size = random.chance(0.03) ? random.pick(sizes.filter((item) => item >= shortest)) : shortest
  if (size === 0) return Uint8Array.of((major << 5) | value)
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)))
  return joined(Uint8Array.of((major << 5) | (24 + Math.log2(size))), bytes.subarray(8 - size))
}

/** Nests arrays or tags. */
function deepCbor(random: FuzzRandom): Uint8Array {
  const depth = random.pick([31, 32, 33, 1_000, 10_000])
  const open = random.pick([[0x81], [0x9f], [0xd8, 0x2a], [0xc2], [0x82, 0x80]])
  return joined(...Array.from({ length: depth }, () => Uint8Array.from(open)), Uint8Array.of(0))
}

const cbor: FuzzTarget = {
  name: 'cbor',
  about: 'bytes as CBOR: a value that encodes to the same bytes, or a DecodeError',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const samples = [...sampleVouchers(30).map(encodeVoucher), ...sampleMessages(10).map(encodeMessage)]
    const make = (random: FuzzRandom): Uint8Array => {
      if (random.chance(0.01)) return deepCbor(random)
      return random.chance(0.5) ? randomCbor(random, 4) : bytesLike(random, samples)
    }
    const feed = (bytes: Uint8Array): Outcome => {
      const value = orDecodeError(() => ({ it: decodeCbor(bytes) }))
      if (value === null) return 'refused'
      must(sameBytes(encodeCbor(value.it), bytes), `it encodes to ${hexOf(encodeCbor(value.it))}`)
      return 'taken'
    }
    return {
      make: (random) => {
        const bytes = make(random)
        return { feed: () => feed(bytes), show: () => hexOf(bytes) }
      },
    }
  },
}

interface Codec {
  name: string
  samples: Uint8Array[]
  /** Decodes and encodes again: the same bytes must come out. */
  again: (bytes: Uint8Array) => Uint8Array
}

function codecs(): Codec[] {
  const vouchers = sampleVouchers(30)
  const messages = sampleMessages(20)
  const addresses = vouchers.map(({ channelAddr }) => channelAddr)
  const pairs = addresses.map((address, index): [FilecoinAddress, FilecoinAddress] => [
    address,
    addresses[index + 1] ?? address,
  ])
  const updates = vouchers.map((voucher) => encodeUpdateParams({ voucher, secret: voucher.secretHash }))
  return [
    { name: 'message', samples: messages.map(encodeMessage), again: (b) => encodeMessage(decodeMessage(b)) },
    { name: 'voucher', samples: vouchers.map(encodeVoucher), again: (b) => encodeVoucher(decodeVoucher(b)) },
    {
      name: 'signature',
      samples: vouchers.flatMap(({ signature }) => (signature === null ? [] : [encodeSignature(signature)])),
      again: (b) => encodeSignature(decodeSignature(b)),
    },
    {
      name: 'exec params',
      samples: PAYMENT_CHANNEL_CODES.map((code) => encodeExecParams(code, Uint8Array.of(1, 2, 3))),
      again: (b) => encodeExecParams(decodeExecParams(b).codeCid, decodeExecParams(b).params),
    },
    {
      name: 'constructor params',
      samples: pairs.map(([from, to]) => encodeConstructorParams(from, to)),
      again: (b) => encodeConstructorParams(decodeConstructorParams(b).from, decodeConstructorParams(b).to),
    },
    {
      name: 'exec return',
      samples: pairs.map(([id, robust]) => encodeExecReturn(id, robust)),
      again: (b) => encodeExecReturn(decodeExecReturn(b).idAddress, decodeExecReturn(b).robustAddress),
    },
    // Amounts are read as leniently as on the chain, so only the second encoding must equal the first.
    { name: 'update params', samples: updates, again: againLoosely },
  ]
}

function againLoosely(bytes: Uint8Array): Uint8Array {
  const once = encodeUpdateParams(decodeUpdateParams(bytes))
  must(sameBytes(encodeUpdateParams(decodeUpdateParams(once)), once), 'what is encoded reads the same')
  return bytes
}

const tuples: FuzzTarget = {
  name: 'filecoin-codecs',
  about:
    'bytes of messages, vouchers, signatures, parameters: what encodes to the same bytes, or a DecodeError',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const all = codecs()
    const feed = ({ again }: Codec, bytes: Uint8Array): Outcome => {
      const same = orDecodeError(() => again(bytes))
      if (same === null) return 'refused'
      must(sameBytes(same, bytes), `it encodes to ${hexOf(same)}`)
      return 'taken'
    }
    return {
      make: (random) => {
        const codec = random.pick(all)
        const bytes = bytesLike(random, random.chance(0.97) ? codec.samples : random.pick(all).samples)
        return { feed: () => feed(codec, bytes), show: () => `${codec.name} ${hexOf(bytes)}` }
      },
    }
  },
}

/** Each reader of a text: null when it rejects it, else its printed form. */
const TEXT_READERS: Record<string, (text: string) => string | null> = {
  address: (text) => {
    const address = parseAddress(text)
    if (address === null) return null
    must(canonicalAddress(text) === formatAddress(address, 'f'), 'its canonical text')
    const again = decodeAddress(encodeAddress(address))
    must(
      again !== null && formatAddress(again, 't') === formatAddress(address, 't'),
      'its bytes read the same',
    )
    return formatAddress(address, text.startsWith('f') ? 'f' : 't')
  },
  CID: (text) => (parseCid(text) === null ? null : text),
  voucher: (text) => {
    const voucher = orDecodeError(() => voucherFromText(text))
    if (voucher === null) return null
    const standard = voucherText(voucher)
    return text === standard ? text : standard.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  },
}

const texts: FuzzTarget = {
  name: 'filecoin-texts',
  about: 'texts of addresses, CIDs and vouchers: read and printed the same, or nothing; never an exception',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const vouchers = sampleVouchers(40)
    const samples = [
      ...vouchers.flatMap(({ channelAddr }) => [
        formatAddress(channelAddr, 'f'),
        formatAddress(channelAddr, 't'),
      ]),
      ...sampleMessages(10).map(messageCid),
      ...PAYMENT_CHANNEL_CODES,
      ...vouchers.slice(0, 10).map(voucherText),
    ]
    const make = (random: FuzzRandom): string => {
      if (random.chance(0.05)) return hostileText(random)
      let text = random.pick(samples)
      for (let changes = random.below(4); changes > 0; changes -= 1) text = mutatedText(random, text)
      return text
    }
    const feed = (text: string): Outcome => {
      const read = Object.entries(TEXT_READERS).filter(([name, reader]) => {
        const printed = reader(text)
        must(printed === null || printed === text, `as ${name} it prints ${String(printed)}`)
        return printed !== null
      })
      return read.length === 0 ? 'refused' : 'taken'
    }
    return {
      make: (random) => {
        const text = make(random)
        return { feed: () => feed(text), show: () => shown(text) }
      },
    }
  },
}

const numbers: FuzzTarget = {
  name: 'filecoin-numbers',
  about: 'bytes of big integers, LEB128 and addresses: what encodes to the same bytes, or nothing',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const samples = sampleVouchers(60).flatMap(({ channelAddr, amount }) => [
      encodeAddress(channelAddr),
      channelAddr.payload,
      encodeBigInt(amount),
    ])
    const feed = (bytes: Uint8Array): Outcome => {
      const amount = orDecodeError(() => decodeBigInt(bytes))
      if (amount !== null) must(sameBytes(encodeBigInt(amount), bytes), 'the same big integer')
      const number = decodeLeb128(bytes)
      if (number !== null)
        must(sameBytes(encodeLeb128(number.value), bytes.subarray(0, number.length)), 'the same LEB128')
      const address = decodeAddress(bytes)
      if (address !== null) must(parseAddress(formatAddress(address, 't')) !== null, 'its text is an address')
      return amount === null && address === null ? 'refused' : 'taken'
    }
    return {
      make: (random) => {
        const bytes = bytesLike(random, samples)
        return { feed: () => feed(bytes), show: () => hexOf(bytes) }
      },
    }
  },
}

/** Compares values, with integers that JSON.parse would have rounded kept exact. */
function sameJson(ours: unknown, plain: unknown): boolean {
  if (typeof ours === 'bigint')
    return typeof plain === 'number' && Number(ours) === plain && !Number.isSafeInteger(plain)
  if (typeof ours !== 'object' || ours === null || typeof plain !== 'object' || plain === null)
    return Object.is(ours, plain)
  if (Array.isArray(ours) !== Array.isArray(plain)) return false
  const [left, right] = [Object.entries(ours), Object.entries(plain) as [string, unknown][]]
  const others = new Map(right)
  return (
    left.length === right.length &&
    left.every(([key, item]) => others.has(key) && sameJson(item, others.get(key)))
  )
}

function tryJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

const json: FuzzTarget = {
  name: 'lotus-json',
  about: 'text as a node’s JSON: what JSON.parse gives, with exact integers, or a SyntaxError',
  cases: MILLION,
  quickCases: 1_000,
  open: () => {
    const samples = [
      { Nonce: 2n ** 64n - 1n, Method: 2n ** 63n, Params: null, Value: '12345678901234567890' },
      [1, -0.5, 1e21, 9_007_199_254_740_991, -(2n ** 70n), { a: [true, false, null, ''] }],
      { Cids: [{ '/': 'bafy' }], Height: 9, Text: 'a long 1234567890123456789 \\u0041 "text"' },
    ].map(lotusSample)
    const feed = (text: string): Outcome => {
      const plain = tryJson(text)
      try {
        const ours = parseLotusJson(text)
        must(plain !== null, 'JSON.parse refuses it')
        if (text.length < 5_000) must(sameJson(ours, plain?.value), `it reads ${shown(ours)}`)
        return 'taken'
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        must(plain === null || error.message === 'JSON nests too deep', 'JSON.parse takes it')
        return 'refused'
      }
    }
    return {
      make: (random) => {
        const text = jsonLike(random, samples)
        return { feed: () => feed(text), show: () => shown(text) }
      },
    }
  },
}

export const FILECOIN_TARGETS: readonly FuzzTarget[] = [cbor, tuples, texts, numbers, json]
