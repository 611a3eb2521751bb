import fc from 'fast-check'
import t from 'tap'
import { nextRange, RangeWidth } from '../../../indexer/sources/block-ranges.ts'
import { cases } from '../../helpers/cases.ts'

void t.test('ranges cover a span without gap or overlap', (t) => {
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(5000), fc.integer({ min: 1, max: 3000 }), (from, blocks, width) => {
      const to = from + blocks
      let next = from
      for (let range = nextRange(next, to, width); range !== null; range = nextRange(next, to, width)) {
        if (range.from !== next || range.to < range.from || range.to - range.from >= width) return false
        next = range.to + 1
      }
      return next === to + 1
    }),
  )
  t.equal(nextRange(5, 4, 10), null)
  t.end()
})

const outcomes = fc.array(
  fc.record({ ok: fc.boolean(), blocks: fc.integer({ min: 1, max: 5000 }), events: fc.nat(5000) }),
)

void t.test('the width stays between one block and the configured width', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), outcomes, (max, story) => {
      const width = new RangeWidth(max, { first: 100, targetEvents: 1000 })
      return story.every(({ ok, blocks, events }) => {
        const asked = Math.min(blocks, width.width)
        const before = width.width
        if (ok) width.succeeded(asked, events)
        else width.failed(asked)
        if (!ok && asked > 1 && width.width >= asked) return false
        return width.width >= 1 && width.width <= max && width.width <= before * 2
      })
    }),
  )
  t.end()
})

void t.test('any failing width is left soon, and found again from below', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), (limit) => {
      const width = new RangeWidth(2000)
      let reads = 0
      let covered = 0
      while (covered < 200_000) {
        reads += 1
        const asked = width.width
        if (asked > limit) width.failed(asked)
        else {
          covered += asked
          width.succeeded(asked)
        }
      }
      // Failures and narrow ranges cost, but less than knowing the limit would.
      return reads <= 30 + (2 * 200_000) / limit
    }),
    { numRuns: cases(50) },
  )
  t.end()
})

void t.test('a total failure leaves no trace once it is over', (t) => {
  const width = new RangeWidth(2000)
  while (width.width > 1) width.failed(width.width)
  width.failed(1)
  for (let reads = 0; reads < 11; reads += 1) width.succeeded(width.width)
  t.equal(width.width, 2000)
  t.end()
})

void t.test('a limit of one block is asked for two now and then only', (t) => {
  const width = new RangeWidth(2000, { first: 8 })
  let failures = 0
  for (let reads = 0; reads < 640; reads += 1) {
    if (width.width > 1) failures += 1
    if (width.width > 1) width.failed(width.width)
    else width.succeeded(1)
  }
  t.ok(failures < 20, `${failures} of 640`)
  t.equal(width.limit, 1)
  t.end()
})

void t.test('many events make narrower ranges', (t) => {
  const width = new RangeWidth(2000, { targetEvents: 1000 })
  width.succeeded(2000, 10_000)
  t.ok(width.width <= 1000)
  width.succeeded(width.width, 900)
  t.ok(width.width <= 1000, 'and not wider again while they are many')
  t.end()
})
