import fc from 'fast-check'
import t from 'tap'
import { ChainMoved } from '../../../indexer/sources/chain-moved.ts'
import { confirmedRanges } from '../../../indexer/sources/confirmed-ranges.ts'
import type { PlacedRead } from '../../../indexer/sources/read-ahead.ts'

const hashOf = (number: number): string => `0x${number}`
const header = (number: number): PlacedRead['read']['first'] => ({
  ...{ number, hash: hashOf(number), parentHash: hashOf(number - 1), timeS: number },
})

/** Ranges of these widths, from block 1 on. */
function rangesOf(widths: readonly number[]): PlacedRead[] {
  let next = 1
  return widths.map((width) => {
    const [from, to] = [next, next + width - 1]
    next = to + 1
    return {
      from,
      to,
      read: { first: header(from), last: header(to), cuts: [], events: [], evidence: [] },
    }
  })
}

async function taken(ranges: readonly PlacedRead[], finalized: { number: number; hash: string }) {
  const yielded: PlacedRead[] = []
  let error: unknown
  async function* all(): AsyncGenerator<PlacedRead> {
    for (const range of ranges) yield await Promise.resolve(range)
  }
  try {
    for await (const range of confirmedRanges(all(), finalized)) yielded.push(range)
  } catch (thrown) {
    error = thrown
  }
  return { yielded, error }
}

const widths = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 })

void t.test('ranges that continue each other up to the finalized block pass as they are', async (t) => {
  await fc.assert(
    fc.asyncProperty(widths, async (chosen) => {
      const ranges = rangesOf(chosen)
      const number = ranges.at(-1)?.to ?? 0
      const { yielded, error } = await taken(ranges, { number, hash: hashOf(number) })
      t.equal(error, undefined)
      t.strictSame(yielded, ranges)
    }),
  )
  t.same((await taken([], { number: 0, hash: '' })).yielded, [])
})

void t.test('a false hash at the end of a range, or a false child of it, and neither passes', async (t) => {
  await fc.assert(
    fc.asyncProperty(widths, fc.nat(), fc.boolean(), async (chosen, at, isChild) => {
      const ranges = rangesOf(chosen)
      const number = ranges.at(-1)?.to ?? 0
      const index = at % ranges.length
      const { first, last } = ranges[index]?.read ?? {}
      if (first === undefined || last === undefined) throw new Error('there is a range')
      // Of the first range nobody here knows the block before.
      const isSeen = !isChild || index > 0
      if (isChild) first.parentHash = 'another'
      else last.hash = 'another'
      const { yielded, error } = await taken(ranges, { number, hash: hashOf(number) })
      const passed = isChild ? Math.max(0, index - 1) : index
      t.equal(error instanceof ChainMoved, isSeen)
      t.equal(yielded.length, isSeen ? passed : ranges.length)
    }),
  )
})

void t.test('what ends elsewhere than at the finalized block is not final', async (t) => {
  const ranges = rangesOf([5, 5])
  for (const finalized of [
    { number: 10, hash: 'another' },
    { number: 11, hash: hashOf(11) },
    { number: 9, hash: hashOf(9) },
  ]) {
    const { yielded, error } = await taken(ranges, finalized)
    t.equal(yielded.length, 1)
    t.ok(error instanceof ChainMoved)
  }
})
