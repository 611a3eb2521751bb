import fc from 'fast-check'
import t from 'tap'
import { HashedBlock } from '../../../../../indexer/sources/filecoin/proof/hashed-block.ts'
import { blockCid, parseCid } from '../../../../../shared/filecoin/block-cid.ts'
import { parseLotusJson } from '../../../../../shared/filecoin/lotus-json.ts'
import { base64, headerVectors } from '../../../../helpers/proof-vectors.ts'

const shown = headerVectors().flatMap(({ cid, cbor, json }) =>
  json === undefined ? [] : [{ cid, cbor, json }],
)
const bigints = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)

void t.test('the JSON of a block gives its CID', (t) => {
  t.equal(shown.length, 40)
  for (const { cid, cbor, json } of shown) {
    const block = new HashedBlock(json)
    t.same(block.cid, parseCid(cid), cid)
    t.same(block.cid, blockCid(base64(cbor)))
    t.equal(block.Height, json['Height'])
  }
  t.end()
})

void t.test('any changed field gives another CID, or none', (t) => {
  const names = Object.keys(shown[0]?.json ?? {})
  t.equal(names.length, 16)
  const other = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(undefined, 1n << 70n))
  fc.assert(
    fc.property(fc.constantFrom(...shown), fc.constantFrom(...names), other, ({ cid, json }, name, value) => {
      const isSame = JSON.stringify(value ?? [], bigints) === JSON.stringify(json[name] ?? [], bigints)
      const found = new HashedBlock({ ...json, [name]: value }).cid
      return isSame || found === null || Buffer.compare(found, parseCid(cid) ?? found) !== 0
    }),
    { numRuns: 2_000 },
  )
  t.pass('held')
  t.end()
})

void t.test('numbers above 2^53 are hashed exactly', (t) => {
  const [{ json, cid } = { json: {}, cid: '' }] = shown
  const text = JSON.stringify({ ...json, ForkSignaling: 0 })
  const hash = (signal: string): Uint8Array | null =>
    new HashedBlock(
      parseLotusJson(text.replace('"ForkSignaling":0', `"ForkSignaling":${signal}`)) as Record<
        string,
        unknown
      >,
    ).cid
  t.same(hash('0'), parseCid(cid))
  t.notSame(hash('18446744073709551615'), hash('18446744073709551614'))
  t.equal(hash('18446744073709551616'), null, 'no field holds it')
  t.end()
})
