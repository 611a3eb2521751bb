import fc from 'fast-check'
import t from 'tap'
import { areSameBytes, bytesIn, textOfPieces } from '../../../../indexer/sources/rpc/body-text.ts'
import { cut } from '../../../helpers/cut-text.ts'

const places = fc.array(fc.nat(), { maxLength: 8 })
const text = fc.string({ unit: 'binary', maxLength: 60 })

void t.test('bytes in any pieces are the text that they are as a whole', (t) => {
  const mark = fc.constantFrom('', '\ufeff')
  fc.assert(
    fc.property(mark, fc.oneof(text, fc.string({ maxLength: 60 })), places, (before, said, at) => {
      const pieces = cut(before + said, at)
      return (
        textOfPieces(pieces) === (before === '' ? said.replace(/^\ufeff/, '') : said) &&
        bytesIn(pieces) === Buffer.byteLength(before + said)
      )
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

void t.test('what is no UTF-8 is replaced', (t) => {
  t.equal(textOfPieces([Buffer.from([0x61, 0xff]), Buffer.from([0xe2, 0x82])]), 'a\ufffd\ufffd')
  t.equal(textOfPieces([]), '')
  t.end()
})

void t.test('a text is the same however it is cut, and no other one is', (t) => {
  fc.assert(
    fc.property(text, text, places, places, (one, other, here, there) => {
      return (
        areSameBytes(cut(one, here), cut(one, there)) &&
        areSameBytes(cut(one, here), cut(other, there)) === (one === other)
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
        return areSameBytes(left, right) === (one === other) && areSameBytes(right, left) === (one === other)
      })
    }),
    { numRuns: 2_000 },
  )
  t.end()
})
