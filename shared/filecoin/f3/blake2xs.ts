/** BLAKE2Xs, the extendable output of BLAKE2s (RFC 7693). The libraries here cannot set the parameters that it needs. */

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
/** Means that the length of the output is not known beforehand. */
const UNKNOWN_LENGTH = 0xffff

const IV = [
  ...[0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a],
  ...[0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
]

/** The order of a block's words in each round. */
const ROUNDS = [
  ...['0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8'],
  ...['905724afe1bc683d', '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a'],
  ...['6fe9b308c2d714a5', 'a2847615fb9e3cd0'],
].map((order) => Array.from(order, (digit) => Number.parseInt(digit, 16)))

/** The four words that each quarter of a round mixes. */
const QUARTERS: readonly (readonly [number, number, number, number])[] = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
]

/** Returns the first `length` bytes of the output of unknown length, without a key. */
export function blake2xs(input: Uint8Array, length: number): Uint8Array {
  const root = blake2s(input, [0x0101_0020, 0, 0, UNKNOWN_LENGTH])
  const output = new Uint8Array(Math.ceil(length / DIGEST_BYTES) * DIGEST_BYTES)
  for (let node = 0; node * DIGEST_BYTES < length; node += 1) {
    const parameters = [DIGEST_BYTES, DIGEST_BYTES, node, UNKNOWN_LENGTH | (DIGEST_BYTES << 24)]
    output.set(blake2s(root, parameters), node * DIGEST_BYTES)
  }
  return output.subarray(0, length)
}

/** Returns 32 bytes. `parameters` are the first four words of the parameter block; the others are zero. */
function blake2s(input: Uint8Array, parameters: readonly number[]): Uint8Array {
  const state = Int32Array.from(IV, (word, at) => word ^ (parameters[at] ?? 0))
  // The last block is a whole one too; only an empty input has an empty block.
  const blocks = Math.max(1, Math.ceil(input.length / BLOCK_BYTES))
  const padded = new Uint8Array(blocks * BLOCK_BYTES)
  padded.set(input)
  const view = new DataView(padded.buffer)
  for (let block = 0; block < blocks; block += 1) {
    const isLast = block === blocks - 1
    const read = isLast ? input.length : (block + 1) * BLOCK_BYTES
    const words = Array.from({ length: 16 }, (_, at) => view.getUint32(block * BLOCK_BYTES + 4 * at, true))
    compress(state, words, read, isLast)
  }
  const digest = new Uint8Array(DIGEST_BYTES)
  state.forEach((word, at) => new DataView(digest.buffer).setInt32(4 * at, word, true))
  return digest
}

/** `read` is the number of bytes of the input up to and including this block. */
function compress(state: Int32Array, words: readonly number[], read: number, isLast: boolean): void {
  const work = Int32Array.of(...state, ...IV)
  const word = (at: number): number => work[at] ?? 0
  work[12] = word(12) ^ read
  if (isLast) work[14] = ~word(14)
  for (const order of ROUNDS) {
    QUARTERS.forEach(([a, b, c, d], quarter) => {
      const add = (at: number): number => words[order[at] ?? 0] ?? 0
      work[a] = word(a) + word(b) + add(2 * quarter)
      work[d] = rotated(word(d) ^ word(a), 16)
      work[c] = word(c) + word(d)
      work[b] = rotated(word(b) ^ word(c), 12)
      work[a] = word(a) + word(b) + add(2 * quarter + 1)
      work[d] = rotated(word(d) ^ word(a), 8)
      work[c] = word(c) + word(d)
      work[b] = rotated(word(b) ^ word(c), 7)
    })
  }
  for (let at = 0; at < 8; at += 1) state[at] = (state[at] ?? 0) ^ word(at) ^ word(at + 8)
}

/** To the right. */
function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}
