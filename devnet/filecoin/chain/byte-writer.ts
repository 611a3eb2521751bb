/**
 * Writes the CBOR of block headers. A chain of 100,000 tipsets is played in seconds, and most of that is here: the
 * general encoder takes several times as long for the same bytes.
 */
export class ByteWriter {
  private readonly buffer: Uint8Array
  private length = 0

  constructor(capacity: number) {
    this.buffer = new Uint8Array(capacity)
  }

  /** Major types 0 (unsigned integer) and 4 (array) are all that is written by number. */
  unsigned(value: number): this {
    return this.head(0, value)
  }

  array(items: number): this {
    return this.head(4, items)
  }

  bytes(bytes: Uint8Array): this {
    return this.head(2, bytes.length).raw(bytes)
  }

  nothing(): this {
    return this.raw([0xf6])
  }

  /** Tag 42 around a zero byte and the CID. */
  link(cid: Uint8Array): this {
    return this.raw([0xd8, 42])
      .head(2, cid.length + 1)
      .raw([0])
      .raw(cid)
  }

  /** A copy of what was written; the writer is empty again. */
  take(): Uint8Array {
    const written = this.buffer.slice(0, this.length)
    this.length = 0
    return written
  }

  private head(major: number, value: number): this {
    const type = major << 5
    if (value < 24) return this.raw([type | value])
    if (value < 0x100) return this.raw([type | 24, value])
    if (value < 0x10000) return this.raw([type | 25, value >>> 8, value & 0xff])
    if (value > 0xffffffff) throw new RangeError('no number of a header is that high')
    return this.raw([type | 26, value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff])
  }

  private raw(bytes: ArrayLike<number>): this {
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
    return this
  }
}
