import fc from 'fast-check'
import t from 'tap'
import { amtRoot } from '../../../../shared/filecoin/amt.ts'
import { blockCid, parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { sameBytes } from '../../../../shared/filecoin/bytes.ts'
import { encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { CborWriter } from '../../../../shared/filecoin/cbor-writer.ts'
import { cidOfBytes } from '../../../../shared/filecoin/cid.ts'
import { messagesRoot } from '../../../../shared/filecoin/messages-root.ts'
import { encodeReceipt, RECEIPT_FIELDS, receiptsRoot } from '../../../../shared/filecoin/receipt.ts'
import { base64, headerVectors, messageVectors, receiptVectors } from '../../../helpers/proof-vectors.ts'

const writer = new CborWriter()
const linkItem = (cid: Uint8Array): Uint8Array => writer.link(cid).take()

void t.test('a block’s CID is the hash of its bytes', (t) => {
  const headers = headerVectors()
  t.equal(headers.length, 58)
  for (const { cid, cbor } of headers) {
    t.same(blockCid(base64(cbor)), parseCid(cid), cid)
    t.equal(cidOfBytes(base64(cbor)), cid)
  }
  t.end()
})

void t.test('real blocks commit to their messages', (t) => {
  const { blocks, messages } = messageVectors()
  t.equal(blocks.length, 13)
  for (const block of blocks) {
    for (const { cid, cbor } of [...block.bls, ...block.secp]) t.same(blockCid(base64(cbor)), parseCid(cid))
    const [bls, secp] = [block.bls, block.secp].map((list) => list.map(({ cbor }) => blockCid(base64(cbor))))
    t.same(amtRoot((bls ?? []).map(linkItem)), parseCid(block.blsRoot), `BLS at ${block.height}`)
    t.same(amtRoot((secp ?? []).map(linkItem)), parseCid(block.secpRoot), `secp256k1 at ${block.height}`)
    t.same(messagesRoot(bls ?? [], secp ?? []), parseCid(block.messages), `both at ${block.height}`)
  }
  const unsigned = messages.filter(({ kind }) => kind === 'unsigned')
  t.equal(unsigned.length, 21)
  for (const { cid, cbor } of unsigned) t.same(blockCid(base64(cbor)), parseCid(cid))
  t.end()
})

void t.test('receipts of three fields hash to the root that Lotus computed', (t) => {
  const lists = receiptVectors()
  t.equal(lists.length, 8)
  for (const { root, receipts } of lists) {
    const list = receipts.map(({ ExitCode, Return, GasUsed }) => ({
      exitCode: ExitCode,
      returned: Return === null ? new Uint8Array() : base64(Return),
      gasUsed: GasUsed,
      eventsRoot: null,
    }))
    t.same(
      list.map((receipt) => encodeReceipt(receipt, 3)),
      receipts.map(({ cbor }) => base64(cbor)),
    )
    const expected = parseCid(root) ?? new Uint8Array()
    const found = RECEIPT_FIELDS.filter((fields) => sameBytes(receiptsRoot(list, fields), expected))
    t.same(found, [3])
  }
  t.end()
})

void t.test('any other list has another root', (t) => {
  const items = fc.array(fc.uint8Array({ minLength: 1, maxLength: 23 }), { minLength: 1, maxLength: 600 })
  const change = fc.record({
    at: fc.nat(),
    kind: fc.constantFrom('left out', 'changed', 'repeated', 'swapped'),
  })
  fc.assert(
    fc.property(items, change, (contents, { at, kind }) => {
      const index = at % contents.length
      const encode = (list: Uint8Array[]): Uint8Array =>
        amtRoot(list.map((item) => writer.bytes(item).take()))
      const other = changed(contents, index, kind)
      const isSame =
        other.length === contents.length && other.every((item, i) => sameBytes(item, contents[i] ?? item))
      return sameBytes(encode(other), encode(contents)) === isSame
    }),
  )
  t.pass('held')
  t.end()
})

function changed(list: Uint8Array[], index: number, kind: string): Uint8Array[] {
  const item = list[index] ?? new Uint8Array()
  if (kind === 'left out') return list.toSpliced(index, 1)
  if (kind === 'repeated') return list.toSpliced(index, 0, item)
  if (kind === 'changed')
    return list.with(
      index,
      item.map((byte) => byte ^ 1),
    )
  return list.with(index, list[0] ?? item).with(0, item)
}

void t.test('the writer encodes integers as the general encoder does, and refuses longer ones', (t) => {
  const limit = 2n ** 64n
  fc.assert(
    fc.property(fc.bigInt({ min: -limit, max: limit - 1n }), fc.nat(64), (value, shift) => {
      const small = BigInt.asIntN(64, value) >> BigInt(shift)
      return (
        sameBytes(writer.integer(small).take(), encodeCbor(small)) &&
        sameBytes(writer.integer(value).take(), encodeCbor(value))
      )
    }),
  )
  t.throws(() => writer.integer(limit), RangeError)
  t.throws(() => writer.integer(-limit - 1n), RangeError)
  t.equal(writer.begin().take().length, 0, 'a failure leaves nothing behind')
  t.end()
})
