import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { base64pad } from 'multiformats/bases/base64'
import t from 'tap'
import { decodeExecuted, type ExecutedMessage } from '../../../../indexer/sources/filecoin/decode-executed.ts'
import { decodeMessage, execCode } from '../../../../indexer/sources/filecoin/decode-message.ts'
import { BadAnswer } from '../../../../indexer/sources/rpc/rpc-error.ts'
import { isPaymentChannelCode } from '../../../../shared/filecoin/actor-codes.ts'
import { formatAddress, idAddress, parseAddress } from '../../../../shared/filecoin/address.ts'
import { encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { messageCid, type Message } from '../../../../shared/filecoin/message.ts'
import { voucherText, type SignedVoucher } from '../../../../shared/filecoin/voucher.ts'
import { cases } from '../../../helpers/cases.ts'
import { decodeMessage as decodeMessageBytes, encodeUpdateParams } from '../../../../devnet/filecoin/codec.ts'

interface Vector {
  name: string
  messages: string[]
  receipts: { exitCode: number; return: string | null }[]
}

const file = new URL('../../../fixtures/filecoin/filecoin-messages.json', import.meta.url)
const { vectors } = JSON.parse(await readFile(file, 'utf8')) as { vectors: Vector[] }
const HEADER = { number: 77, hash: 'tipset', parentHash: 'parent', timeS: 1_700_000_000 }
const CONTEXT = {
  header: HEADER,
  letter: 'f',
  epochDurationS: 30,
  isChannelCode: isPaymentChannelCode,
} as const

/** A message as a node writes it. */
function nodeMessage(message: Message, cid = messageCid(message)): unknown {
  return {
    Cid: { '/': cid },
    Message: {
      Version: 0,
      To: formatAddress(message.to, 't'),
      From: formatAddress(message.from, 't'),
      Nonce: message.nonce,
      Value: message.value.toString(),
      GasLimit: message.gasLimit,
      GasFeeCap: message.gasFeeCap.toString(),
      GasPremium: message.gasPremium.toString(),
      Method: message.method <= 2n ** 53n ? Number(message.method) : message.method,
      Params: message.params.length === 0 ? null : base64pad.baseEncode(message.params),
      CID: { '/': messageCid(message) },
    },
  }
}

const receipt = (exitCode = 0, returned: string | null = null): unknown => ({
  ExitCode: exitCode,
  Return: returned,
  GasUsed: 1,
  EventsRoot: null,
})

/** The events of a published vector, in order. */
function eventsOf(name: string): ReturnType<typeof decodeMessage>[] {
  const vector = vectors.find((candidate) => candidate.name === name)
  if (vector === undefined) throw new Error(`no vector ${name}`)
  const messages = vector.messages.map((text) => nodeMessage(decodeMessageBytes(base64pad.baseDecode(text))))
  const receipts = vector.receipts.map((item) => receipt(item.exitCode, item.return))
  return decodeExecuted(messages, receipts).map((executed) => decodeMessage(executed, CONTEXT))
}

void t.test('published payment channel messages', (t) => {
  const [create, update, settle, collect] = eventsOf('paych--collect-ok--actorsv2')
  const channel = 'f2xjl6b4xwp7wj4qs4nwdmufenzhfu4izqiyehmiq'
  t.match(create, {
    kind: 'CreateChannel',
    channel,
    channelId: 'f0102',
    value: '10000',
    codeCid: 'bafkqafdgnfwc6mrpobqxs3lfnz2gg2dbnzxgk3a',
    blockNumber: 77,
    blockHash: 'tipset',
    blockTimeS: 1_700_000_000,
    logIndex: 0,
    to: 'f01',
    sender: { id: null },
  })
  t.match(create, { from: { asWritten: /^f1/ }, recipient: { asWritten: /^f1/ } })
  t.match(update, { kind: 'UpdateChannel', voucher: { lane: '1', nonce: '1', merges: 0 } })
  t.match(settle, { kind: 'SettleChannel', settlingAtEpoch: 77 + 1440, settlingAtFrom: 'rule' })
  t.match(collect, { kind: 'CollectChannel', logIndex: 3 })
  t.equal(collect?.channel ?? null, collect?.to.startsWith('f2') === true ? channel : null)
  t.end()
})

void t.test('messages of mainnet', (t) => {
  for (const made of ['1', '2', '3'])
    t.same(eventsOf(`ext-0002-fil_1_init-Exec-Ok-${made}`), [null], 'a multisig')
  t.match(eventsOf('ext-0002-fil_1_init-Exec-Ok-10'), [
    {
      kind: 'CreateChannel',
      channel: 'f23glr2njktsm2bfr2qbeyupdjzk4flnj2zm6dera',
      channelId: 'f019288',
      recipient: { asWritten: 'f01055', id: 'f01055', robust: [] },
      value: '16777216',
    },
  ])
  t.same(eventsOf('ext-0001-fil_1_account-Send-Ok-1'), [], 'to an account')
  t.end()
})

const SENDER = parseAddress('f1xdzyae3xadbxkgirxpp722sb54hv2aqxzs2as7a')
const ROBUST = parseAddress('f2xjl6b4xwp7wj4qs4nwdmufenzhfu4izqiyehmiq')
if (SENDER === null || ROBUST === null) throw new Error('addresses')
const BASE: Message = {
  version: 0,
  to: ROBUST,
  from: SENDER,
  nonce: 2n ** 64n - 1n,
  value: 0n,
  gasLimit: 1n,
  gasFeeCap: 1n,
  gasPremium: 1n,
  method: 2n,
  params: new Uint8Array(),
}
const VOUCHER: SignedVoucher = {
  channelAddr: ROBUST,
  timeLockMin: 0n,
  timeLockMax: 0n,
  secretHash: new Uint8Array(),
  extra: null,
  lane: 0n,
  nonce: 1n,
  amount: 5n,
  minSettleHeight: 0n,
  merges: [],
  signature: null,
}
const executedOf = (changes: Partial<Message>, returned = new Uint8Array()): ExecutedMessage => ({
  cid: 'bafy',
  index: 4,
  message: { ...BASE, ...changes },
  returned,
})

void t.test('what is longer than a channel takes is cut or undecodable', (t) => {
  const sized = (changes: Partial<SignedVoucher>, secret = new Uint8Array()): unknown =>
    decodeMessage(
      executedOf({ params: encodeUpdateParams({ voucher: { ...VOUCHER, ...changes }, secret }) }),
      CONTEXT,
    )
  t.match(sized({}), { kind: 'UpdateChannel', voucher: { text: voucherText(VOUCHER), secretHash: null } })
  const merges = Array.from({ length: 1000 }, (_, lane) => ({ lane: BigInt(lane), nonce: 1n }))
  t.match(sized({ merges }), { kind: 'UpdateChannel', voucher: { text: null, merges: 1000 } })
  t.match(sized({}, new Uint8Array(257)), { kind: 'UndecodableMessage', reason: 'secret: 257 bytes' })
  t.match(sized({ secretHash: new Uint8Array(33) }), {
    kind: 'UndecodableMessage',
    reason: 'voucher secret hash: 33 bytes',
  })
  const long = decodeMessage(executedOf({ params: new Uint8Array(100_000).fill(0xff) }), CONTEXT)
  t.match(long, { kind: 'UndecodableMessage', paramsBytes: 100_000, paramsHead: `0x${'ff'.repeat(256)}` })
  t.ok(JSON.stringify(long).length < 2_000)
  t.end()
})

void t.test('whatever the parameters are, nothing is thrown and no event is long', (t) => {
  const byId = idAddress(1000n)
  const inputs = fc.record({
    method: fc.constantFrom(0n, 2n, 3n, 4n),
    to: fc.constantFrom(ROBUST, byId, idAddress(1n)),
    params: fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.tuple(fc.nat(300), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
        const bytes = encodeUpdateParams({ voucher: VOUCHER, secret: new Uint8Array(20) })
        bytes[at % bytes.length] = byte
        return bytes
      }),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => encodeCbor([bytes, bytes])),
    ),
    returned: fc.uint8Array({ maxLength: 60 }),
  })
  fc.assert(
    fc.property(inputs, ({ method, to, params, returned }) => {
      const executed = executedOf({ method, to, params }, returned)
      execCode(executed)
      const event = decodeMessage(executed, { ...CONTEXT, isChannelCode: () => true })
      return JSON.stringify(event).length < 5_000
    }),
    { numRuns: cases(2_000) },
  )
  t.end()
})

void t.test('a channel that is made and says nothing readable is kept as undecodable', (t) => {
  const create = vectors.find(({ name }) => name === 'paych--create-ok--actorsv2')
  const message = decodeMessageBytes(base64pad.baseDecode(create?.messages[0] ?? ''))
  const executed = { cid: 'bafy', index: 0, message, returned: Uint8Array.of(1, 2) }
  t.match(decodeMessage(executed, CONTEXT), { kind: 'UndecodableMessage', channel: null, to: 'f01' })
  t.equal(execCode(executed), 'bafkqafdgnfwc6mrpobqxs3lfnz2gg2dbnzxgk3a')
  t.end()
})

void t.test('only what ran and could be a channel’s is looked at', (t) => {
  const kinds = (changes: Partial<Message>, exitCode = 0): unknown[] =>
    decodeExecuted([nodeMessage({ ...BASE, ...changes })], [receipt(exitCode)]).map(({ cid }) => cid)
  t.equal(kinds({}).length, 1)
  t.equal(kinds({}, 16).length, 0, 'it failed')
  t.equal(kinds({ to: SENDER }).length, 0, 'an account')
  t.equal(kinds({ to: idAddress(99n) }).length, 0, 'a built-in actor')
  t.equal(kinds({ to: idAddress(100n) }).length, 1)
  t.equal(kinds({ method: 0n }).length, 0, 'nothing was sent')
  t.equal(kinds({ method: 0n, value: 1n }).length, 1)
  t.equal(kinds({ method: 3n }).length, 1)
  t.equal(kinds({ method: 3n, params: Uint8Array.of(1) }).length, 0, 'a channel’s settle takes nothing')
  t.equal(kinds({ method: 2n ** 64n - 1n }).length, 0, 'a method beyond 2^53')
  t.end()
})

void t.test('answers that contradict themselves are not believed', (t) => {
  const good = nodeMessage(BASE)
  const refused = (messages: unknown, receipts: unknown, what: string): void => {
    t.throws(() => decodeExecuted(messages, receipts), BadAnswer, what)
  }
  t.doesNotThrow(() => decodeExecuted(null, []), 'an empty tipset')
  t.doesNotThrow(() => decodeExecuted(null, null), 'the first tipset')
  refused([good], [], 'a receipt is missing')
  refused([good, good], [receipt()], 'as above')
  refused([good], [{}], 'no exit code')
  refused({}, [], 'no list')
  refused([null], [receipt()], 'no message')
  const changed = (changes: object): unknown => {
    const { Cid, Message } = good as { Cid: unknown; Message: object }
    return { Cid, Message: { ...Message, ...changes } }
  }
  refused([changed({ Value: '7' })], [receipt()], 'an amount that its CID does not bear out')
  refused([changed({ Params: 'AAAA' })], [receipt()], 'parameters likewise')
  refused([changed({ Params: '!' })], [receipt()], 'no base64')
  refused([changed({ From: 'f1garbage' })], [receipt()], 'no address')
  refused([changed({ Nonce: -1 })], [receipt()], 'no nonce')
  const bls = parseAddress(`f3vv`) ?? { protocol: 3 as const, payload: new Uint8Array(48).fill(1) }
  const message = { ...BASE, from: bls }
  const { Message } = nodeMessage(message) as { Message: Record<string, unknown> }
  const { CID: _inner, ...unnamed } = Message
  t.doesNotThrow(() => decodeExecuted([{ Cid: { '/': messageCid(message) }, Message: unnamed }], [receipt()]))
  refused([{ Cid: { '/': messageCid(BASE) }, Message: unnamed }], [receipt()], 'the name of another message')
  t.end()
})
