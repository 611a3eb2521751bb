import t from 'tap'
import { searchDifference } from '../../../indexer/state-proof/search-block.ts'

void t.test('the block of a difference is found in few steps', async (t) => {
  for (const block of [0, 1, 777_777, 11_999_999, 12_000_000]) {
    let asked = 0
    const isEqualAt = (number: number): Promise<boolean> => {
      asked += 1
      return Promise.resolve(number < block)
    }
    const found = await searchDifference(-1, 12_000_000, isEqualAt, new AbortController().signal)
    t.equal(found, block)
    t.ok(asked <= 24, `${asked} steps`)
  }
})

void t.test('an interrupted search finds nothing', async (t) => {
  const stop = new AbortController()
  const isEqualAt = (): Promise<boolean> => {
    stop.abort()
    return Promise.resolve(true)
  }
  t.equal(await searchDifference(0, 100, isEqualAt, stop.signal), null)
})
