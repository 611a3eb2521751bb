import { blake2b } from '@noble/hashes/blake2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** A stream of choices, the same for the same seed. */
export interface Random {
  /** A whole number from `from` to `to`, inclusive. */
  int(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly T[]): T
  bytes(length: number): Uint8Array
}

export function createRandom(seed: string): Random {
  let block = new Uint8Array()
  let used = 0
  let counter = 0
  function byte(): number {
    if (used === block.length) {
      block = blake2b(utf8ToBytes(`${seed}/${counter++}`), { dkLen: 64 })
      used = 0
    }
    return block[used++] ?? 0
  }
  /** 48 bits, as a fraction of one. */
  function fraction(): number {
    let value = 0
    for (let i = 0; i < 6; i++) value = value * 256 + byte()
    return value / 2 ** 48
  }
  const int = (from: number, to: number): number => from + Math.floor(fraction() * (to - from + 1))
  return {
    int,
    chance: (probability) => fraction() < probability,
    pick: (choices) => {
      const choice = choices[int(0, choices.length - 1)]
      if (choice === undefined) throw new Error('there is nothing to pick from')
      return choice
    },
    bytes: (length) => Uint8Array.from({ length }, byte),
  }
}
