import { AbiCoder } from 'ethers'
import t from 'tap'
import { decodeBySlices } from '../../../../indexer/sources/evm/decode-abi.ts'
import { abiCases, compareDecoders, digitByDigit, type AbiCase } from '../../../helpers/abi-cases.ts'
import { cases } from '../../../helpers/cases.ts'

const CASES = cases(20_000)
const coder = AbiCoder.defaultAbiCoder()

function compareAll(all: Iterable<AbiCase>): { taken: number; refused: number } {
  const found = { taken: 0, refused: 0 }
  for (const one of all) {
    const isTaken = compareDecoders((types, data) => {
      const values = decodeBySlices(types, data)
      if (values === null) throw new Error('refused')
      return values
    }, one)
    found[isTaken ? 'taken' : 'refused'] += 1
  }
  return found
}

void t.test('slices of the data give what the general coder gives, and refuse what it refuses', (t) => {
  const found = compareAll(abiCases(7, CASES))
  t.ok(found.taken > CASES / 4 && found.refused > CASES / 4, JSON.stringify(found))
  t.end()
})

void t.test('so it is whichever digit of an encoding is another one', (t) => {
  const all = [...digitByDigit(11)]
  const step = all.length / cases(all.length)
  const found = compareAll(all.filter((_, index) => index % step < 1))
  const least = cases(3_000)
  t.ok(found.taken > least && found.refused > least, JSON.stringify(found))
  t.end()
})

void t.test('long data is decoded as short data is', (t) => {
  for (const length of [64 * 1024 - 64, 64 * 1024 + 1]) {
    const data = coder.encode(['bytes'], [`0x${'5f'.repeat(length)}`])
    t.equal(decodeBySlices(['bytes'], data)?.at(0), `0x${'5f'.repeat(length)}`)
  }
  t.end()
})

void t.test('data of an unknown type is an error of the program, not of the chain', (t) => {
  t.throws(() => decodeBySlices(['string'], '0x'), /the type string is not read/)
  t.end()
})
