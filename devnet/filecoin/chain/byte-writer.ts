/**
 * Writes the CBOR of block headers. Playing 100,000 tipsets takes seconds, most of them in here. The general encoder
 * takes several times as long for the same bytes.
 */
export class ByteWriter {
  private readonly buffer: Uint8Array
  private length = 0

  constructor(capacity: number) {
    this.buffer = new Uint8Array(capacity)
  }

  /** Only major types 0 (unsigned integer) and 4 (array) are written by number. */
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
    return this.byte(0xf6)
  }

  /** Writes tag 42 around a zero byte and the CID. */
  link(cid: Uint8Array): this {
    return this.byte(0xd8)
      .byte(42)
      .head(2, cid.length + 1)
      .byte(0)
      .raw(cid)
  }

  /** Returns a copy of the written bytes and empties the writer. */
  take(): Uint8Array {
    const written = this.buffer.slice(0, this.length)
    this.length = 0
    return written
  }

  private head(major: number, value: number): this {
    const type = major << 5
    if (value < 24) return this.byte(type | value)
    if (value < 0x100) return this.byte(type | 24).byte(value)
    if (value < 0x10000)
      return this.byte(type | 25)
        .byte(value >>> 8)
        .byte(value)
    if (value > 0xffffffff) throw new RangeError('no number of a header is that high')
    return this.byte(type | 26)
      .byte(value >>> 24)
      .byte(value >>> 16)
      .byte(value >>> 8)
      .byte(value)
  }

  /** Writes the lowest eight bits. */
  private byte(value: number): this {
    this.buffer[this.length++] = value
    return this
  }

  private raw(bytes: Uint8Array): this {
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
    return this
  }
}
