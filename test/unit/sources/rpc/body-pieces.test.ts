import fc from 'fast-check'
import t from 'tap'
import { BodyPieces, MAX_BODY_BYTES, PIECE_BYTES } from '../../../../indexer/sources/rpc/body-pieces.ts'

function piecesOf(lengths: readonly number[]): Buffer[] {
  let byte = 0
  return lengths.map((length) => Buffer.alloc(length).map(() => (byte = (byte + 7) % 251)) as Buffer)
}

void t.test('all that comes is there, in its order, however it is cut', (t) => {
  const length = fc.oneof(fc.nat(40), fc.nat(9_000), fc.integer({ min: 8_000, max: 300_000 }))
  fc.assert(
    fc.property(fc.array(length, { maxLength: 40 }), (lengths) => {
      const body = new BodyPieces()
      const came = piecesOf(lengths)
      for (const piece of came) body.add(piece)
      const pieces = body.end()
      const isShort = pieces.every(({ byteLength }) => byteLength <= PIECE_BYTES)
      return isShort && Buffer.concat(pieces).equals(Buffer.concat(came))
    }),
    { numRuns: 100 },
  )
  t.end()
})

void t.test('crumbs are put together, and large pieces are not copied', (t) => {
  const crumbs = new BodyPieces()
  for (let index = 0; index < 100_000; index += 1) crumbs.add(Buffer.from('x'))
  t.ok(crumbs.end().length <= 10)
  const large = Array.from({ length: 20 }, () => Buffer.alloc(64 * 1024))
  const body = new BodyPieces()
  for (const piece of large) body.add(piece)
  t.ok(body.end().every((piece, index) => piece.buffer === large[index]?.buffer))
  t.end()
})

void t.test('of crumbs and large pieces in turns no piece but the crumb between is small', (t) => {
  const body = new BodyPieces()
  for (let index = 0; index < 200; index += 1) body.add(Buffer.alloc(index % 2 === 0 ? 1 : 10_000))
  t.equal(body.end().length, 200)
  t.end()
})

void t.test('what is too large is refused as soon as it is', (t) => {
  const body = new BodyPieces()
  const half = Buffer.alloc(MAX_BODY_BYTES / 2)
  body.add(half)
  body.add(half)
  t.throws(() => body.add(Buffer.from('x')), { message: `answer of more than ${MAX_BODY_BYTES} bytes` })
  t.end()
})
