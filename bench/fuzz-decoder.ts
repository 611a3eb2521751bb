import { decodeBySlices } from '../indexer/sources/evm/decode-abi.ts'
import { abiCases, compareDecoders } from '../test/helpers/abi-cases.ts'

const PROGRESS_EVERY = 100_000

/** Compares the two decoders over this many logs, well-formed and hostile; throws at the first difference. */
export function fuzzDecoder(cases: number, seed: number): void {
  let [done, taken] = [0, 0]
  for (const one of abiCases(seed, cases)) {
    const isTaken = compareDecoders((types, data) => {
      const values = decodeBySlices(types, data)
      if (values === null) throw new Error('refused')
      return values
    }, one)
    done += 1
    taken += isTaken ? 1 : 0
    if (done % PROGRESS_EVERY === 0) console.error(`${done} of ${cases}`)
  }
  console.log(`seed ${seed}: ${done} cases, ${taken} decode and ${done - taken} do not, with no difference`)
}
