import fc from 'fast-check'
import t from 'tap'
import { isSameText } from '../../../../indexer/sources/rpc/same-text.ts'
import { cut } from '../../../helpers/cut-text.ts'

const places = fc.array(fc.nat(), { maxLength: 8 })
const text = fc.string({ unit: 'binary', maxLength: 60 })

void t.test('a text is the same however it is cut, and no other one is', (t) => {
  fc.assert(
    fc.property(text, text, places, places, (one, other, here, there) => {
      return (
        isSameText(cut(one, here), cut(one, there)) &&
        isSameText(cut(one, here), cut(other, there)) === (one === other)
      )
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

void t.test('neither is one that differs in one place, or goes on', (t) => {
  const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
  fc.assert(
    fc.property(text, character, fc.nat(), places, places, (one, put, at, here, there) => {
      const place = at % (one.length + 1)
      return [0, 1].every((take) => {
        const other = one.slice(0, place) + put + one.slice(place + take)
        const [left, right] = [cut(one, here), cut(other, there)]
        return isSameText(left, right) === (one === other) && isSameText(right, left) === (one === other)
      })
    }),
    { numRuns: 2_000 },
  )
  t.end()
})
