import { EndpointFault } from './rpc-error.ts'

/** A larger body is a fault: nothing that we ask for needs it, and it must fit in memory. */
export const MAX_BODY_BYTES = 128 * 1024 * 1024
/** As much as a socket mostly gives at once. A text that is much longer is dear to make: see `parse-pieces.ts`. */
export const PIECE_BYTES = 64 * 1024
/** Smaller pieces are crumbs: to hold one costs a hundred bytes of the heap, however small it is. */
const CRUMB_BYTES = 8 * 1024
/** So many pieces are kept as they come, for most answers are one or two. */
const FEW = 8

/** A body as it comes in: no piece is long, and crumbs are put together. A node cuts its answer as it likes, also into single bytes. */
export class BodyPieces {
  readonly #pieces: Buffer[] = []
  #bytes = 0
  /** Of crumbs. */
  #block: Buffer = Buffer.alloc(0)
  #used = 0

  /** Throws an EndpointFault when it becomes too large. */
  add(piece: Buffer): void {
    this.#bytes += piece.byteLength
    if (this.#bytes > MAX_BODY_BYTES) throw new EndpointFault(`answer of more than ${MAX_BODY_BYTES} bytes`)
    if (piece.byteLength < CRUMB_BYTES && this.#pieces.length >= FEW) this.#addCrumb(piece)
    else {
      this.#closeBlock()
      for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) {
        this.#pieces.push(piece.subarray(at, at + PIECE_BYTES))
      }
    }
  }

  /** All that came. */
  end(): Buffer[] {
    this.#closeBlock()
    return this.#pieces
  }

  #addCrumb(crumb: Buffer): void {
    if (this.#used + crumb.byteLength > this.#block.byteLength) {
      this.#closeBlock()
      this.#block = Buffer.allocUnsafe(PIECE_BYTES)
    }
    this.#used += crumb.copy(this.#block, this.#used)
  }

  #closeBlock(): void {
    if (this.#used > 0) this.#pieces.push(this.#block.subarray(0, this.#used))
    this.#block = this.#block.subarray(this.#used)
    this.#used = 0
  }
}
