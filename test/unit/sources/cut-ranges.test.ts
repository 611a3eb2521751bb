import fc from 'fast-check'
import t from 'tap'
import { cutRanges } from '../../../indexer/sources/cut-ranges.ts'

const isTrue = (item: boolean): boolean => item

void t.test('ranges are the list, and as few as hold what counts', (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (items, most) => {
      const ranges = cutRanges(items, isTrue, most)
      const counted = ranges.map((range) => range.filter(isTrue).length)
      t.same(ranges.flat(), items)
      t.ok(ranges.every((range) => range.length > 0))
      t.ok(counted.every((count) => count <= most))
      const fewest = Math.max(Math.ceil(items.filter(isTrue).length / most), Math.min(items.length, 1))
      t.equal(ranges.length, fewest)
    }),
  )
  t.end()
})
