import { isAscii } from 'node:buffer'

/** (pure) A body's bytes in pieces, cut anywhere; outside of V8's heap until they are read. */
export type Pieces = readonly Buffer[]

const BYTE_ORDER_MARK = '\ufeff'

/** Nearly all of JSON-RPC is: then each byte is a character, wherever the bytes are cut. */
export function isPlain(pieces: Pieces): boolean {
  return pieces.every((piece) => isAscii(piece))
}

/** All of it as one text. A character may come in two pieces; what is no UTF-8 is replaced. */
export function textOfPieces(pieces: Pieces): string {
  if (isPlain(pieces)) return plainText(pieces)
  const text = Buffer.concat(pieces).toString()
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text
}

/** Where all of it is plain. */
export function plainText(pieces: Pieces): string {
  return pieces.map((piece) => piece.toString('latin1')).join('')
}

export function bytesIn(pieces: Pieces): number {
  return pieces.reduce((bytes, piece) => bytes + piece.byteLength, 0)
}

/** Whether two bodies are the same, wherever they were cut: without putting either of them together. */
export function areSameBytes(left: Pieces, right: Pieces): boolean {
  if (bytesIn(left) !== bytesIn(right)) return false
  const others = right.values()
  let open: Buffer | undefined = Buffer.alloc(0)
  for (const piece of left) {
    let at = 0
    while (at < piece.byteLength) {
      if (open.byteLength === 0) open = others.next().value
      if (open === undefined) return false
      const bytes = Math.min(piece.byteLength - at, open.byteLength)
      if (piece.compare(open, 0, bytes, at, at + bytes) !== 0) return false
      at += bytes
      open = open.subarray(bytes)
    }
  }
  return true
}
