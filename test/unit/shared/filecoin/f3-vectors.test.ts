import { keccak_256 } from '@noble/hashes/sha3.js'
import t from 'tap'
import { bytesToHex, concatBytes } from '../../../../shared/filecoin/bytes.ts'
import { decodeCbor, encodeCbor } from '../../../../shared/filecoin/cbor.ts'
import { cidOfBytes } from '../../../../shared/filecoin/cid.ts'
import { aggregateKey, bdnFactors } from '../../../../shared/filecoin/f3/bdn.ts'
import { blake2xs } from '../../../../shared/filecoin/f3/blake2xs.ts'
import {
  powerTableCid,
  scaledPowers,
  sortedTable,
  type PowerTable,
} from '../../../../shared/filecoin/f3/power-table.ts'
import { base64, f3Vectors } from '../../../helpers/proof-vectors.ts'

const vectors = f3Vectors()
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
const noTurn = (): Promise<void> => Promise.resolve()
const tables = new Map(vectors.tables.map(({ cid, entries }) => [cid, tableOf(entries)]))

function tableOf(entries: [number, string, string][]): PowerTable {
  return entries.map(([id, power, key]) => ({ id, power: BigInt(power), key: base64(key) }))
}

void t.test('BLAKE2Xs of unknown length', (t) => {
  t.equal(vectors.blake2xs.vectors.length, 3)
  for (const { input, output } of vectors.blake2xs.vectors)
    t.equal(bytesToHex(blake2xs(hex(input), output.length / 2)), output)
  t.end()
})

void t.test('the pinned power tables of mainnet and calibnet', (t) => {
  t.same(
    vectors.tables.map(({ entries }) => entries.length),
    [20, 1560],
  )
  for (const { cid, scaledTotal, scaledFirst } of vectors.tables) {
    const table = tables.get(cid) ?? []
    t.equal(powerTableCid(table), cid)
    t.same(sortedTable([...table].reverse()), table, 'in the order of power and number')
    const scaled = scaledPowers(table)
    t.same(scaled.slice(0, scaledFirst.length), scaledFirst)
    t.equal(
      scaled.reduce((sum, power) => sum + power, 0),
      scaledTotal,
    )
  }
  t.end()
})

void t.test('the table in the head of a public snapshot', (t) => {
  const decoded = decodeCbor(base64(vectors.snapshotHeader.cbor))
  const table = Array.isArray(decoded) ? (decoded[3] as unknown) : null
  t.ok(vectors.tables.some(({ cid }) => cid === cidOfBytes(encodeCbor(table))))
  t.end()
})

void t.test('how often each key counts', async (t) => {
  t.equal(vectors.coefficients.vectors.length, 2)
  for (const vector of vectors.coefficients.vectors) {
    const keys = (tables.get(vector.table) ?? []).map(({ key }) => key)
    t.equal(keys.length, vector.keys)
    const output = blake2xs(concatBytes(...keys), 16 * keys.length)
    t.equal(bytesToHex(keccak_256(output)), vector.xofKeccak256)
    const factors = bdnFactors(keys).map((factor) => (factor - 1n).toString())
    const isAll = vector.coefficients.length === keys.length
    t.same(isAll ? factors : [...factors.slice(0, 3), factors.at(-1)], vector.coefficients)
    if (vector.aggregateOfFirstThree !== undefined)
      t.equal((await aggregateKey(keys, [0, 1, 2], noTurn)).toHex(), vector.aggregateOfFirstThree)
  }
})
