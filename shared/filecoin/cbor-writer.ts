const UINT64_LIMIT = 1n << 64n

/**
 * Writes the CBOR of blocks that are hashed: headers, receipts and nodes of their trees. Thousands are hashed each
 * second. The general encoder takes several times as long for the same bytes.
 */
export class CborWriter {
  private buffer: Uint8Array
  private length = 0

  /** `capacity` is the size in bytes at the start; the buffer grows. */
  constructor(capacity = 4096) {
    this.buffer = new Uint8Array(capacity)
  }

  /** Drops what an earlier failure left behind. */
  begin(): this {
    this.length = 0
    return this
  }

  /** Throws a RangeError for a number that does not fit 64 bits. */
  integer(value: number | bigint): this {
    if (value >= 0) return this.head(0, value)
    return this.head(1, typeof value === 'bigint' ? -1n - value : -1 - value)
  }

  array(items: number): this {
    return this.head(4, items)
  }

  bytes(bytes: Uint8Array): this {
    return this.head(2, bytes.length).raw(bytes)
  }

  /** Writes a byte string that begins with `first`. */
  bytesAfter(first: number, rest: Uint8Array): this {
    return this.head(2, rest.length + 1)
      .byte(first)
      .raw(rest)
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

  /** Writes encoded items as they are. */
  raw(bytes: Uint8Array): this {
    if (this.length + bytes.length > this.buffer.length) this.grow(bytes.length)
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
    return this
  }

  /** Returns the written bytes, which change with the next write. */
  written(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  /** Returns a copy of the written bytes and empties the writer. */
  take(): Uint8Array {
    const written = this.buffer.slice(0, this.length)
    this.length = 0
    return written
  }

  private head(major: number, value: number | bigint): this {
    const type = major << 5
    if (value < 24) return this.byte(type | Number(value))
    if (value < 0x100) return this.byte(type | 24).byte(Number(value))
    if (value < 0x10000) return this.byte(type | 25).bigEndian(Number(value), 2)
    if (value < 0x1_0000_0000) return this.byte(type | 26).bigEndian(Number(value), 4)
    const big = BigInt(value)
    if (big >= UINT64_LIMIT) throw new RangeError(`${big.toString()} does not fit 64 bits`)
    return this.byte(type | 27)
      .bigEndian(Number(big >> 32n), 4)
      .bigEndian(Number(big & 0xffffffffn), 4)
  }

  private bigEndian(value: number, bytes: number): this {
    for (let shift = 8 * (bytes - 1); shift >= 0; shift -= 8) this.byte(value >>> shift)
    return this
  }

  /** Writes the lowest eight bits. */
  private byte(value: number): this {
    if (this.length === this.buffer.length) this.grow(1)
    this.buffer[this.length++] = value
    return this
  }

  private grow(atLeast: number): void {
    const larger = new Uint8Array(Math.max(2 * this.buffer.length, this.length + atLeast))
    larger.set(this.buffer)
    this.buffer = larger
  }
}
