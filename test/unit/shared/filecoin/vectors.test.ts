import t from 'tap'
import { isPaymentChannelCode } from '../../../../shared/filecoin/actor-codes.ts'
import { formatAddress, idAddress } from '../../../../shared/filecoin/address.ts'
import {
  decodeConstructorParams,
  decodeExecParams,
  decodeExecReturn,
} from '../../../../shared/filecoin/init-actor.ts'
import { encodeMessage, messageCid } from '../../../../shared/filecoin/message.ts'
import {
  COLLECT,
  decodeUpdateParams,
  INIT_EXEC,
  PAYCH_UPDATE,
  SETTLE,
} from '../../../../shared/filecoin/payment-channel.ts'
import { verifySignature } from '../../../../shared/filecoin/verify-signature.ts'
import {
  decodeVoucher,
  encodeVoucher,
  voucherFromText,
  voucherSigningBytes,
  voucherText,
} from '../../../../shared/filecoin/voucher.ts'
import { readFilecoinVectors } from '../../../helpers/filecoin-vectors.ts'
import {
  createdActorAddress,
  encodeConstructorParams,
  encodeExecParams,
  encodeExecReturn,
  decodeMessage,
  encodeUpdateParams,
} from '../../../../devnet/filecoin/codec.ts'

const VECTORS = readFilecoinVectors()
const MESSAGES = VECTORS.flatMap(({ name, messages, receipts }) =>
  messages.map((bytes, i) => ({
    name: `${name}, message ${i}`,
    bytes,
    message: decodeMessage(bytes),
    receipt: receipts[i] ?? { exitCode: -1, return: new Uint8Array() },
  })),
)
const INIT_ACTOR = formatAddress(idAddress(1n), 'f')
const EXECS = MESSAGES.filter(({ message }) => formatAddress(message.to, 'f') === INIT_ACTOR)

void t.test('every published message encodes to the bytes it came from', (t) => {
  t.equal(MESSAGES.length, 19)
  for (const { name, bytes, message } of MESSAGES) t.strictSame(encodeMessage(message), bytes, name)
  t.end()
})

void t.test('the CID of a published message is the one that its network gave it', (t) => {
  t.equal(
    MESSAGES[0] && messageCid(MESSAGES[0].message),
    'bafy2bzacecmm77ixarfssrem5xrrinhmhxhhvtbs273dnqkxzetpedoow7i6g',
  )
  t.end()
})

void t.test('every Exec: params and return encode to the same bytes, the robust address is foretold', (t) => {
  t.equal(EXECS.length, 8)
  for (const { name, message, receipt } of EXECS) {
    t.equal(message.method, INIT_EXEC, name)
    const exec = decodeExecParams(message.params)
    t.strictSame(encodeExecParams(exec.codeCid, exec.params), message.params, name)
    const made = decodeExecReturn(receipt.return)
    t.strictSame(encodeExecReturn(made.idAddress, made.robustAddress), receipt.return, name)
    t.equal(made.idAddress.protocol, 0, name)
    t.strictSame(createdActorAddress(message.from, message.nonce), made.robustAddress, name)
  }
  t.end()
})

void t.test('payment channels are told from other actors by their code; both parties are read', (t) => {
  const channels = EXECS.map(({ message }) => decodeExecParams(message.params)).filter(({ codeCid }) =>
    isPaymentChannelCode(codeCid),
  )
  t.equal(channels.length, 5)
  t.equal(EXECS.length - channels.length, 3, 'the others are multisigs')
  for (const { params } of channels) {
    const { from, to } = decodeConstructorParams(params)
    t.strictSame(encodeConstructorParams(from, to), params)
  }
  t.end()
})

void t.test(
  'vouchers of executed updates: same bytes again, signed by the party that did not submit',
  (t) => {
    let updates = 0
    for (const { name, messages } of VECTORS.filter(({ name }) => /^paych--(update|collect)/.test(name))) {
      const [create, update] = messages.map(decodeMessage)
      if (create === undefined || update === undefined) throw new Error(`${name} has too few messages`)
      const { from, to } = decodeConstructorParams(decodeExecParams(create.params).params)
      t.equal(update.method, PAYCH_UPDATE)
      t.strictSame(update.from, from)

      const params = decodeUpdateParams(update.params)
      t.strictSame(encodeUpdateParams(params), update.params, name)
      t.strictSame(decodeVoucher(encodeVoucher(params.voucher)), params.voucher, name)

      const { signature } = params.voucher
      if (signature === null) throw new Error(`${name} has no signature`)
      t.ok(verifySignature(voucherSigningBytes(params.voucher), signature, to), name)
      t.notOk(
        verifySignature(voucherSigningBytes(params.voucher), signature, from),
        `${name}: not by the submitter`,
      )
      updates++
    }
    t.equal(updates, 2)
    t.end()
  },
)

void t.test('settle and collect take no params', (t) => {
  const closing = MESSAGES.filter(
    ({ name, message }) => name.startsWith('paych--') && message.method >= SETTLE,
  )
  t.strictSame(
    closing.map(({ message }) => message.method),
    [SETTLE, COLLECT],
  )
  for (const { message } of closing) t.equal(message.params.length, 0)
  t.end()
})

void t.test('one voucher in both text forms', (t) => {
  const lotus =
    'i1UCulfg8vZ_7J5CXG2GyhSNyctOIzAAAED2GHsBQgAKAIBYQgFWH3LvBoeXGNbyuM2WRQ6NXw01eldumihuk9Nrzf18SESCaJq2OxCcuQ7KFijOU19kD0wvArsTGpx8mbllPiECAQ'
  const plain = `${lotus.replaceAll('-', '+').replaceAll('_', '/')}==`
  t.strictSame(voucherFromText(lotus), voucherFromText(plain))
  t.equal(voucherText(voucherFromText(lotus)), plain)
  t.equal(voucherFromText(plain).amount, 10n)
  t.equal(voucherFromText(plain).lane, 123n)
  t.end()
})
