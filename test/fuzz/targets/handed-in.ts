import { networkOf, whichNetwork } from '../../../indexer/handed-in-network.ts'
import { readHandedIn } from '../../../indexer/ingest/handed-in.evolve.ts'
import { payloadDigest, storablePayload } from '../../../indexer/ingest/storable-json.ts'
import { readStatement, verifyStatement } from '../../../indexer/ingest/verify-statement.ts'
import { verifyVoucher } from '../../../indexer/ingest/verify-voucher.ts'
import type { Channel } from '../../../shared/channels/channel.evolve.ts'
import { parseHandedIn, type HandedIn, type SignedStatement } from '../../../shared/events/handed-in.ts'
import { formatAddress, idAddress } from '../../../shared/filecoin/address.ts'
import {
  decodeVoucher,
  encodeVoucher,
  voucherKey,
  voucherText,
  type SignedVoucher,
} from '../../../shared/filecoin/voucher.ts'
import {
  BORROWER,
  CHANNEL,
  CHANNEL_ID,
  knownChannel,
  LENDER,
  sign,
  signStatement,
  STATEMENT,
  textOf,
  unsignedVoucher,
} from '../../helpers/signed-vouchers.ts'
import { MILLION, must, mustBeStorable, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { hostileText, mutatedText } from '../hostile-text.ts'
import { bytesLike, mutatedBytes } from '../mutate-bytes.ts'
import { jsonLike, jsonSample } from '../mutate-json.ts'
import { FuzzRandom } from '../random.ts'
import { sampleVouchers } from '../samples.ts'

const UINT64 = [0n, 1n, 2n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n] as const
const EPOCHS = [0n, -1n, 1n, 999n, 1000n, 1001n, 2439n, 2440n, 2500n, 2n ** 63n - 1n, -(2n ** 63n)] as const
const AMOUNTS = [0n, 1n, 499n, 500n, 501n, -1n, 10n ** 300n] as const
const HASH_BYTES = [0, 31, 32, 33] as const

function randomVoucher(random: FuzzRandom): SignedVoucher {
  return unsignedVoucher({
    channelAddr: random.chance(0.8) ? CHANNEL : idAddress(random.pick([CHANNEL_ID, 1235n])),
    timeLockMin: random.chance(0.7) ? 0n : random.pick(EPOCHS),
    timeLockMax: random.chance(0.7) ? 0n : random.pick(EPOCHS),
    secretHash: new Uint8Array(random.chance(0.9) ? 32 : random.pick(HASH_BYTES)).fill(random.below(4)),
    extra: random.chance(0.9) ? null : { actor: CHANNEL, method: random.pick(UINT64), data: random.bytes(3) },
    lane: random.chance(0.8) ? 0n : random.pick(UINT64),
    nonce: random.pick(UINT64),
    amount: random.pick(AMOUNTS),
    minSettleHeight: random.pick(EPOCHS),
    merges: Array.from({ length: random.pick([0, 0, 0, 0, 1, 64, 65]) }, (_, lane) => ({
      ...{ lane: BigInt(lane + 1), nonce: random.pick(UINT64) },
    })),
  })
}

/** Returns channels at all times of their lives. Signatures are not checked without keys. */
function randomChannel(random: FuzzRandom, withKeys: boolean): Channel {
  const nobody = { asWritten: 't0100', id: 't0100', robust: [] }
  return knownChannel({
    ...(withKeys ? {} : { from: nobody, recipient: nobody }),
    settlingAtEpoch: random.chance(0.6) ? null : Number(random.pick([0n, 1000n, 2440n])),
    collectedEpoch: random.chance(0.8) ? null : 2500,
    deposits: random.pick([0n, 500n, 10n ** 30n]).toString(),
    redeemed: Array.from({ length: random.below(3) }, () => ({
      lane: random.pick(UINT64),
      nonce: random.pick(UINT64),
      key: 'another',
      signedBy: random.pick(['from', 'recipient', null] as const),
    })),
  })
}

/** Reads and judges an item from a queue, an import or a node, as far as possible without a signature. */
function checkHandedIn(item: HandedIn, channel: Channel): Outcome {
  const reading = readHandedIn(item, 't')
  if (!reading.ok) {
    mustBeRefusal(reading.reason)
    return 'refused'
  }
  const { read } = reading
  mustBeStorable(read.item)
  must(
    payloadDigest(read.item) === payloadDigest(JSON.parse(JSON.stringify(read.item))),
    'its digest is its own',
  )
  const again = readHandedIn(read.item, 't')
  must(again.ok && again.read.channelAddr === read.channelAddr, 'its one spelling reads the same')
  const judgement = read.judge(channel, 'queue')
  if (judgement.ok) mustBeStorable(judgement.event)
  else mustBeRefusal(judgement.reason)
  return 'taken'
}

/** Checks the length only, because the store replaces unstorable text that a reason quotes. */
function mustBeRefusal(reason: string): void {
  must(reason !== '' && reason.length < 1_000, `a reason of ${reason.length} characters`)
}

const vouchers: FuzzTarget = {
  name: 'voucher-text',
  about: 'vouchers as texts, up to their signature: a judgement, or a reason; never an exception',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const own = new FuzzRandom('samples')
    const signed = Array.from({ length: 60 }, () => ({
      ...randomVoucher(own),
      signature: { type: 1 as const, data: own.bytes(65) },
    }))
    const samples = [...signed, ...sampleVouchers(30)].map(encodeVoucher)
    return {
      make: (random) => {
        const text = random.chance(0.05)
          ? hostileText(random)
          : Buffer.from(bytesLike(random, samples)).toString(random.chance(0.8) ? 'base64' : 'base64url')
        const channel = randomChannel(random, false)
        const voucher = random.chance(0.1) ? mutatedText(random, text) : text
        return { feed: () => checkHandedIn({ voucher }, channel), show: () => shown({ voucher, channel }) }
      },
    }
  },
}

/** An accepted signature must cover exactly what a party signed. */
const voucherSignatures: FuzzTarget = {
  name: 'voucher-signature',
  about: 'signed vouchers, signatures verified: accepted only where a party signed these very words',
  cases: MILLION,
  quickCases: 50,
  open: () => {
    const own = new FuzzRandom('signed')
    const samples = Array.from({ length: 80 }, () => sign(randomVoucher(own), BORROWER))
    const rare = Array.from({ length: 4 }, () => sign(unsignedVoucher({ nonce: own.pick(UINT64) }), LENDER))
    const keys = new Set([...samples, ...rare].map(voucherKey))
    const feed = (bytes: Uint8Array, channel: Channel): Outcome => {
      let voucher: SignedVoucher
      try {
        voucher = decodeVoucher(bytes)
      } catch {
        return 'refused'
      }
      const verdict = verifyVoucher(voucher, channel, 't')
      if (!verdict.ok) {
        mustBeRefusal(verdict.reason)
        must(!verdict.isSigned || keys.has(voucherKey(voucher)), 'nobody signed this')
        return 'refused'
      }
      must(keys.has(verdict.facts.key), 'nobody signed what is accepted')
      must([textOf(BORROWER), textOf(LENDER)].includes(verdict.signer), 'a party signed it')
      return 'taken'
    }
    return {
      make: (random) => {
        // A BLS signature takes sixty times as long, so few cases have one. The check tries both parties' keys.
        const voucher = random.pick(random.chance(0.005) ? rare : samples)
        const withBls = random.chance(0.01)
        const channel = {
          ...randomChannel(random, true),
          ...(withBls ? {} : { recipient: knownChannel().from }),
        }
        const bytes = damaged(random, voucher)
        return { feed: () => feed(bytes, channel), show: () => shown({ bytes, channel }) }
      },
    }
  },
}

/** Returns it unchanged, with another content under the same signature, or with another signature. */
function damaged(random: FuzzRandom, voucher: SignedVoucher): Uint8Array {
  const data = voucher.signature?.data ?? new Uint8Array()
  switch (random.below(4)) {
    case 0:
      return encodeVoucher(voucher)
    case 1:
      return encodeVoucher({ ...voucher, amount: voucher.amount + 1n })
    case 2:
      return encodeVoucher({
        ...voucher,
        signature: { type: 1, data: mutatedBytes(random, data).slice(0, 199) },
      })
    default:
      return mutatedBytes(random, encodeVoucher(voucher))
  }
}

/** Statements for the other market, and for neither. */
const STATEMENTS = [
  STATEMENT,
  { ...STATEMENT, contractLoanId: 42, networkId: 1 },
  {
    contractLoanId: 7,
    erc20CollateralLock: STATEMENT.erc20LoansContract,
    collateralNetwork: 56,
    secretHashB1: 'cd'.repeat(32),
    paymentChannelId: formatAddress(idAddress(CHANNEL_ID), 't'),
  },
]

const statements: FuzzTarget = {
  name: 'statement-text',
  about: 'statements, up to their signature: facts, or a reason; never an exception',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const samples = STATEMENTS.map((statement) => jsonSample(JSON.stringify(statement)))
    const signatures = [
      '00'.repeat(65),
      `0x${'00'.repeat(65)}`,
      'ff'.repeat(65),
      '00'.repeat(64),
      'zz'.repeat(65),
    ]
    const feed = (statement: SignedStatement): Outcome => {
      const read = readStatement(statement)
      // Any 65 bytes can be some key's signature, but not that of the channel's maker.
      must(!verifyStatement(statement, knownChannel(), 't').ok, 'the channel’s maker did not sign it')
      if (read.ok) return 'taken'
      mustBeRefusal(read.reason)
      return /signature$|65 bytes of hex$/.test(read.reason) ? 'taken' : 'refused'
    }
    return {
      make: (random) => {
        const message = jsonLike(random, samples)
        const signature = random.chance(0.8) ? random.pick(signatures) : hostileText(random)
        return { feed: () => feed({ message, signature }), show: () => shown({ message, signature }) }
      },
    }
  },
}

const statementSignatures: FuzzTarget = {
  name: 'statement-signature',
  about:
    'signed statements, signatures verified: accepted only where the channel’s maker signed these very words',
  cases: MILLION,
  quickCases: 50,
  open: () => {
    const signed = STATEMENTS.flatMap((one) => [signStatement(one), signStatement(one, LENDER)])
    const texts = new Set(signed.map(({ message }) => message))
    const feed = (statement: SignedStatement): Outcome => {
      const verdict = verifyStatement(statement, knownChannel(), 't')
      if (!verdict.ok) {
        mustBeRefusal(verdict.reason)
        return 'refused'
      }
      must(texts.has(statement.message) && verdict.signer === textOf(BORROWER), 'its maker signed it')
      mustBeStorable(verdict)
      return 'taken'
    }
    return {
      make: (random) => {
        const statement = { ...random.pick(signed) }
        if (random.chance(0.4)) statement.message = mutatedText(random, statement.message)
        if (random.chance(0.4)) statement.signature = mutatedText(random, statement.signature)
        return { feed: () => feed(statement), show: () => shown(statement) }
      },
    }
  },
}

const NETWORKS = ['filecoin:testnet', 'filecoin:mainnet']

function checkJob(data: unknown, channel: Channel): Outcome {
  const stored = storablePayload(data)
  mustBeStorable(stored.payload)
  const parsed = parseHandedIn(data)
  if (!parsed.ok) {
    mustBeRefusal(parsed.reason)
    return 'refused'
  }
  if (networkOf(NETWORKS, parsed.networkId) === undefined)
    mustBeRefusal(whichNetwork(NETWORKS, parsed.networkId))
  checkHandedIn(parsed.item, channel)
  return 'taken'
}

const jobs: FuzzTarget = {
  name: 'voucher-job',
  about:
    'data of the voucher queue’s jobs: parsed, read, judged and storable, or a reason; never an exception',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const own = new FuzzRandom('jobs')
    const texts = Array.from({ length: 12 }, () =>
      voucherText({ ...randomVoucher(own), signature: { type: 1, data: own.bytes(65) } }),
    )
    const statement = { message: JSON.stringify(STATEMENT), signature: '00'.repeat(65) }
    const samples = [
      ...texts.map((voucher) => ({ network: 'testnet', voucher })),
      ...texts.slice(0, 3).map((voucher) => ({ voucher })),
      ...['testnet', 'mainnet'].map((network) => ({ network, statement })),
    ].map((sample) => jsonSample(JSON.stringify(sample)))
    return {
      make: (random) => {
        const text = jsonLike(random, samples)
        const channel = randomChannel(random, false)
        const feed = (): Outcome => {
          const data = parsedJson(text)
          return data === undefined ? 'refused' : checkJob(data.value, channel)
        }
        return { feed, show: () => shown(text) }
      },
    }
  },
}

/** A queue's data is JSON, so invalid JSON never gets there. */
export function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Any JSON, as data to be stored. */
export const ANY_JSON = [
  { a: [1, 2.5, true, null, 'text'], b: { c: { d: [] } }, e: '' },
  { network: 'testnet', voucher: 'A'.repeat(200), nested: { '/': 'bafy', list: [[['x']]] } },
  ['x', { y: 'z' }],
].map((sample) => jsonSample(JSON.stringify(sample)))

const stored: FuzzTarget = {
  name: 'stored-json',
  about: 'any JSON as a kept payload: storable, bounded, and with a digest that is the same for the same',
  cases: MILLION,
  quickCases: 1_000,
  open: () => ({
    make: (random) => {
      const text = jsonLike(random, ANY_JSON)
      const feed = (): Outcome => {
        const data = parsedJson(text)
        if (data === undefined) return 'refused'
        const { payload, digest, isCut, bytes } = storablePayload(data.value)
        const json = JSON.stringify(payload)
        must(json.length <= 128 * 1024, `${json.length} characters are kept`)
        mustBeStorable(payload)
        must(isCut || bytes > 0, 'what is whole has a length')
        must(storablePayload(parsedJson(text)?.value).digest === digest, 'the same has the same digest')
        if (!isCut) must(payloadDigest(payload) === digest, 'what is kept whole has the digest of what came')
        return 'taken'
      }
      return { feed, show: () => shown(text) }
    },
  }),
}

export const HANDED_IN_TARGETS: readonly FuzzTarget[] = [
  vouchers,
  voucherSignatures,
  statements,
  statementSignatures,
  jobs,
  stored,
]
