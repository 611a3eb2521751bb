/**
 * (pure) Just enough of the contract ABI to encode the two contracts' answers, independent of the measured decoder and
 * of ethers. Texts of words are hex without `0x`.
 */

/** A static value of one or more words, or the whole tail of a dynamic one. */
export type AbiValue = string | { tail: string }

export function word(value: bigint | number): string {
  return value.toString(16).padStart(64, '0')
}

/** `0x` hex of 20 bytes. */
export function addressWord(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, '0')
}

/** `0x` hex of 32 bytes. */
export function bytes32Word(hex: string): string {
  return hex.slice(2)
}

/** `0x` hex of any length, as `bytes`. */
export function bytes(hex: string): AbiValue {
  const digits = hex.slice(2)
  const padded = digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
  return { tail: word(digits.length / 2) + padded }
}

/** A list of known length with dynamic items. */
export function fixedList(...items: AbiValue[]): AbiValue {
  return { tail: encodeAbi(items) }
}

export function encodeAbi(values: readonly AbiValue[]): string {
  const headWords = values.reduce(
    (words, value) => words + (typeof value === 'string' ? value.length / 64 : 1),
    0,
  )
  let head = ''
  let tails = ''
  for (const value of values) {
    if (typeof value === 'string') head += value
    else {
      head += word(headWords * 32 + tails.length / 2)
      tails += value.tail
    }
  }
  return head + tails
}
