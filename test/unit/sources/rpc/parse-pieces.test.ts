import fc from 'fast-check'
import t from 'tap'
import { textOfPieces } from '../../../../indexer/sources/rpc/body-text.ts'
import { parsePieces } from '../../../../indexer/sources/rpc/parse-pieces.ts'
import { parseLotusJson } from '../../../../shared/filecoin/lotus-json.ts'
import { cut, uncut } from '../../../helpers/cut-text.ts'

/** So few that every text of these tests is parsed some items at a time. */
const FEW = 24

function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() }
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : 'no error' }
  }
}

const places = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 12 })
const hard = fc.constantFrom('},{"id"', '}]', '"', '\\', '\\"', '[{', '"result":[', '{"id":1},{"id":2}')
const word = fc.oneof(fc.string(), fc.string({ unit: hard, maxLength: 4 }), fc.constantFrom('0x', '0x00ff'))
const value = fc.oneof(word, fc.nat(), fc.constant(null), fc.array(fc.record({ id: word }), { maxLength: 3 }))
const item = fc.record(
  { id: fc.oneof(fc.nat(), word), result: value, other: value },
  { requiredKeys: ['id'] },
)
const answer = fc.oneof(
  fc.array(item, { maxLength: 12 }),
  fc.array(item, { minLength: 8, maxLength: 30 }),
  fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), result: fc.array(item, { maxLength: 12 }) }),
  fc.record({ result: fc.array(item, { maxLength: 12 }), id: fc.nat(), jsonrpc: fc.constant('2.0') }),
  fc.record({ error: fc.record({ data: fc.array(item) }), result: fc.array(item, { maxLength: 6 }) }),
  fc.jsonValue(),
)
const spaces = fc.constantFrom(undefined, undefined, 1, '\t')

void t.test('a text in any pieces is what it is as a whole', (t) => {
  fc.assert(
    fc.property(answer, spaces, places, (said, space, at) => {
      const text = JSON.stringify(said, null, space)
      t.same(
        outcome(() => parsePieces(cut(text, at), FEW)),
        outcome(() => JSON.parse(text) as unknown),
      )
    }),
    { numRuns: 3_000 },
  )
  t.end()
})

void t.test('and what is no JSON, or says something twice, is the same error or the same value', (t) => {
  const change = fc.record({
    at: fc.nat(100_000),
    take: fc.nat(6),
    put: fc.oneof(
      hard,
      fc.constantFrom(']', '}', ',', '{', '\v', '\f', ' ', ',"result":[{"id":9}]', ',"result":7', ''),
    ),
  })
  fc.assert(
    fc.property(answer, fc.array(change, { minLength: 1, maxLength: 3 }), places, (said, changes, at) => {
      let text = JSON.stringify(said)
      for (const { at: place, take, put } of changes) {
        const start = place % (text.length + 1)
        text = text.slice(0, start) + put + text.slice(start + take)
      }
      t.same(
        outcome(() => parsePieces(cut(text, at), FEW)),
        outcome(() => JSON.parse(text) as unknown),
      )
    }),
    { numRuns: 5_000 },
  )
  t.end()
})

void t.test('no long text is made of a batch, nor of one call’s list, in the forms that nodes send', (t) => {
  const log = { address: '0x01', topics: ['0x02'], data: `0x${'ab'.repeat(300)}` }
  const batch = Array.from({ length: 200 }, (_, id) => ({ jsonrpc: '2.0', id, result: log }))
  const single = { jsonrpc: '2.0', id: 1, result: Array.from({ length: 200 }, () => log) }
  const geth = { result: single.result, id: 1, jsonrpc: '2.0' }
  for (const said of [batch, single, geth]) {
    const text = JSON.stringify(said)
    const pieces = cut(
      text,
      Array.from({ length: 20 }, (_, index) => index * 7_001),
    )
    let longest = 0
    const parse = (part: string): unknown => {
      longest = Math.max(longest, part.length)
      return JSON.parse(part) as unknown
    }
    t.same(parsePieces(pieces, undefined, parse), said)
    t.ok(longest < text.length / 2, `${longest} of ${text.length} characters at once`)
  }
  t.end()
})

void t.test('what is said twice is what was said last', (t) => {
  const items = JSON.stringify(Array.from({ length: 20 }, (_, id) => ({ id })))
  for (const last of ['[]', '[{"id":9}]', '7', 'null']) {
    const text = `{"jsonrpc":"2.0","id":1,"result":${items},"result":${last}}`
    t.same(parsePieces(cut(text, [120, 150]), FEW), JSON.parse(text))
  }
  t.end()
})

void t.test('white space that JSON does not know is none, also around a list', (t) => {
  const items = JSON.stringify(Array.from({ length: 20 }, (_, id) => ({ id })))
  for (const text of [`\v${items}`, `${items}\f`, ` ${items}\n`]) {
    t.same(
      outcome(() => parsePieces(cut(text, [110, 150]), FEW)),
      outcome(() => JSON.parse(text) as unknown),
    )
  }
  t.end()
})

// Looked at anew for each piece, or for each space, it would take minutes.
void t.test('what is made to be looked at again and again is looked at a few times', (t) => {
  const begun = `[${'{"id":1},'.repeat(20)}{"id":1}]`
  const spaces = `${begun}${' '.repeat(2_000_000)}x`
  const crumbs = ['[{"id":"', ...Array.from({ length: 400_000 }, () => 'x'), `${'y'.repeat(150)}"}]`].flatMap(
    uncut,
  )
  t.throws(() => parsePieces(cut(spaces, [150, 100_000])), SyntaxError)
  t.same(parsePieces(crumbs), JSON.parse(textOfPieces(crumbs)))
  t.end()
})

void t.test('an item that never ends is read as a whole, and soon', (t) => {
  const pieces = ['[{"id":"', ...Array.from({ length: 200 }, () => 'x'.repeat(64 * 1024)), '"}]'].flatMap(
    uncut,
  )
  t.same(parsePieces(pieces), JSON.parse(textOfPieces(pieces)))
  t.end()
})

void t.test('another parser than JSON.parse is asked for every part', (t) => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 30 }),
      fc.bigInt({ min: 2n ** 60n, max: 2n ** 64n }),
      places,
      (items, long, at) => {
        const text = JSON.stringify([...items, { id: 7 }, ...items]).replace('{"id":7}', `{"id":${long}}`)
        t.same(parsePieces(cut(text, at), FEW, parseLotusJson), parseLotusJson(text))
      },
    ),
    { numRuns: 1_000 },
  )
  t.end()
})
