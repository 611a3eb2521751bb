import t from 'tap'
import { payloadDigest, storablePayload } from '../../../../indexer/ingest/storable-json.ts'

void t.test('names and texts are kept without NUL and halves of surrogate pairs, at any depth', (t) => {
  const data = JSON.parse('{"a\\u0000b":[{"\\ud800":"\\udc00"}],"__proto__":{"c":"\\u0000"}}') as unknown
  const { payload, isCut } = storablePayload(data)
  t.equal(JSON.stringify(payload), '{"__proto__":{"c":"\u{FFFD}"},"a\u{FFFD}b":[{"\u{FFFD}":"\u{FFFD}"}]}')
  t.equal(isCut, false)
  t.end()
})

void t.test('the digest is of what is kept, whatever the order of names', (t) => {
  const { payload, digest } = storablePayload({ b: '\0', a: { d: 1, c: 2 } })
  t.equal(payloadDigest(payload), digest)
  t.equal(payloadDigest({ a: { c: 2, d: 1 }, b: '\u{FFFD}' }), digest)
  t.not(payloadDigest({ a: { c: 2, d: 1 }, b: '' }), digest)
  t.end()
})

void t.test('what is too long or too deep to be kept is told in its place', (t) => {
  const long = storablePayload(['x'.repeat(70_000)])
  t.match(long, { isCut: true, bytes: 70_004, payload: { beginning: /^\["x{16382}$/ } })
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  t.match(storablePayload(nested(256)), { isCut: false, bytes: 512 })
  for (const depth of [257, 3_000, 10_000])
    t.match(storablePayload(nested(depth)), { isCut: true, bytes: 0, payload: { beginning: '' } })
  t.end()
})
