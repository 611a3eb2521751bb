import fc from 'fast-check'
import t from 'tap'
import { cutParts } from '../../../indexer/sources/cut-parts.ts'

const isTrue = (item: boolean): boolean => item

void t.test('parts are the list, and as few as hold what counts', (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (items, most) => {
      const parts = cutParts(items, isTrue, most)
      const counted = parts.map((part) => part.filter(isTrue).length)
      t.same(parts.flat(), items)
      t.ok(parts.every((part) => part.length > 0))
      t.ok(counted.every((count) => count <= most))
      const fewest = Math.max(Math.ceil(items.filter(isTrue).length / most), Math.min(items.length, 1))
      t.equal(parts.length, fewest)
    }),
  )
  t.end()
})
