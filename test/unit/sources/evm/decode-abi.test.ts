import t from 'tap'
import { decodeBySlices } from '../../../../indexer/sources/evm/decode-abi.ts'
import { abiCases, compareDecoders } from '../../../helpers/abi-cases.ts'

const CASES = 20_000

void t.test('slices of the data give what the general coder gives, and refuse what it refuses', (t) => {
  const found = { taken: 0, refused: 0 }
  for (const one of abiCases(7, CASES)) {
    const isTaken = compareDecoders((types, data) => {
      const values = decodeBySlices(types, data)
      if (values === null) throw new Error('refused')
      return values
    }, one)
    found[isTaken ? 'taken' : 'refused'] += 1
  }
  t.ok(found.taken > CASES / 4 && found.refused > CASES / 4, JSON.stringify(found))
  t.end()
})

void t.test('data of an unknown type is an error of the program, not of the chain', (t) => {
  t.throws(() => decodeBySlices(['string'], '0x'), /the type string is not read/)
  t.end()
})
