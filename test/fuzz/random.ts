import { createHash } from 'node:crypto'

/**
 * A fast stream of choices (xoshiro128**): a million cases of thousands of choices each must cost seconds. Each case's
 * stream follows from seed, target and case number alone, so a case can run by itself.
 */
export class FuzzRandom {
  readonly #base: readonly [number, number, number, number]
  #a = 1
  #b = 2
  #c = 3
  #d = 4

  constructor(seed: string) {
    const hash = createHash('sha256').update(seed).digest()
    this.#base = [hash.readInt32LE(0), hash.readInt32LE(4), hash.readInt32LE(8), hash.readInt32LE(12)]
    this.beginCase(0)
  }

  beginCase(number: number): void {
    const [a, b, c, d] = this.#base
    this.#a = mixed(a + Math.imul(number, 0x9e3779b9))
    this.#b = mixed(b ^ this.#a)
    this.#c = mixed(c ^ this.#b)
    // Avoids all zeros, the one state that never changes.
    this.#d = mixed(d ^ this.#c) | 1
  }

  /** Ranges from 0 to 2^32-1. */
  uint32(): number {
    const result = Math.imul(rotated(Math.imul(this.#b, 5), 7), 9) >>> 0
    const t = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= t
    this.#d = rotated(this.#d, 11)
    return result
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * limit)
  }

  chance(probability: number): boolean {
    return this.uint32() < probability * 2 ** 32
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)]
    if (choice === undefined) throw new RangeError('there is nothing to pick from')
    return choice
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    for (let i = 0; i < length; i += 4) {
      const four = this.uint32()
      bytes[i] = four
      bytes[i + 1] = four >>> 8
      bytes[i + 2] = four >>> 16
      bytes[i + 3] = four >>> 24
    }
    return bytes
  }
}

function mixed(value: number): number {
  let z = value | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return z ^ (z >>> 15)
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by))
}
