import fc from 'fast-check'
import t from 'tap'
import { textLength } from '../../../shared/text-length.ts'

void t.test('every text in a value counts, its names do not', (t) => {
  t.equal(
    textLength({ name: 'four', list: ['a', ['bc'], { d: 'efg' }], none: null, number: 12, yes: true }),
    10,
  )
  t.equal(textLength('four'), 4)
  t.equal(textLength(null), 0)
  t.end()
})

void t.test('of any JSON it is what its texts have', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      let characters = 0
      JSON.stringify(value, (_, part: unknown) => {
        if (typeof part === 'string') characters += part.length
        return part
      })
      return textLength(value) === characters
    }),
  )
  t.pass()
  t.end()
})
