import { keccak_256 } from '@noble/hashes/sha3.js'
import { remembering } from '../../../shared/remembering.ts'

/**
 * A block's logs bloom: 2048 bits, three of them set for the address and for each topic of every log. A clear bit
 * proves absence; set bits prove nothing.
 */

/** The three bits of one item, each as the index of its hex digit in the bloom's text and a mask. */
export type BloomBits = readonly { digit: number; mask: number }[]

const BLOOM_BYTES = 256
export const EMPTY_BLOOM = `0x${'0'.repeat(BLOOM_BYTES * 2)}`

/** Addresses and topics recur, and a Keccak hash is expensive. */
const MAX_REMEMBERED = 10_000

const bitNumbers = remembering(MAX_REMEMBERED, (item): readonly number[] => {
  const hash = keccak_256(Buffer.from(item.slice(2), 'hex'))
  return [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047)
})

/** `item` is the address or the topic, as hex. */
export function bloomBits(item: string): BloomBits {
  return bitNumbers(item).map((bit) => ({
    digit: 2 + BLOOM_BYTES * 2 - 1 - (bit >> 2),
    mask: 1 << (bit & 3),
  }))
}

export function mayContain(bloom: string, bits: BloomBits): boolean {
  return bits.every(({ digit, mask }) => (Number.parseInt(bloom.charAt(digit), 16) & mask) !== 0)
}

/** Returns the bloom that exactly these logs make, in lower-case hex. */
export function bloomOf(logs: Iterable<{ address: string; topics: readonly string[] }>): string {
  const items = new Set<string>()
  for (const log of logs) {
    items.add(log.address.toLowerCase())
    for (const topic of log.topics) items.add(topic)
  }
  const bloom = Buffer.alloc(BLOOM_BYTES)
  for (const item of items) {
    for (const bit of bitNumbers(item)) {
      const byte = bloom.length - 1 - (bit >> 3)
      bloom[byte] = (bloom[byte] ?? 0) | (1 << (bit & 7))
    }
  }
  return `0x${bloom.toString('hex')}`
}
