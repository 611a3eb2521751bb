/**
 * Hex as memory: four digits are one word of 32 bits, so that a digit costs a fifth of what a regular expression takes for it, and
 * whether there are zeros is told by eight words and not by 32 characters. There is one such memory: whoever lays a text into it reads it before
 * anybody else can.
 */

/** Bytes of the largest text that is laid out: of longer ones expressions and ethers decide. */
export const MOST_BYTES = 64 * 1024
const MOST_DIGITS = 2 * MOST_BYTES
const DIGITS_PER_WORD = 4
/** `0x` stands before it, so that digits begin with a word. */
const FIRST_BYTE = DIGITS_PER_WORD
const PREFIX_BYTES = 2

const memory = Buffer.alloc(FIRST_BYTE + MOST_DIGITS + DIGITS_PER_WORD)
const words = new Int32Array(memory.buffer, memory.byteOffset, memory.length / DIGITS_PER_WORD)

const ZERO = 0x30
const FOUR_ZEROS = 0x30303030
/** Of `a`, less its value. */
const BEFORE_A = 0x57
const NINE = 0x39

/** Lays out a text of `0x` and an even number of digits; false where it begins with something else, is longer than {@link MOST_BYTES}, or not all ASCII. */
export function layOut(text: string): boolean {
  const length = text.length
  if (length - PREFIX_BYTES > MOST_DIGITS || !text.startsWith('0x')) return false
  // A character beyond ASCII takes several bytes.
  if (memory.write(text, FIRST_BYTE - PREFIX_BYTES, 'utf8') !== length) return false
  const end = FIRST_BYTE - PREFIX_BYTES + length
  // The rest of its last word, where a longer text may have been before.
  memory[end] = ZERO
  memory[end + 1] = ZERO
  return true
}

/**
 * Whether the first `digits` of what is laid out are 0-9 and a-f. In each byte of a sum the highest bit tells whether the
 * character is at least the one that was added as its distance from 128; none is above 127, so nothing is carried.
 */
export function areLowerHex(digits: number): boolean {
  const end = 1 + Math.ceil(digits / DIGITS_PER_WORD)
  let all = -1
  for (let index = 1; index < end; index += 1) {
    const word = words[index] ?? 0
    const isDigit = (word + 0x50505050) & ~(word + 0x46464646)
    const isLetter = (word + 0x1f1f1f1f) & ~(word + 0x19191919)
    all &= isDigit | isLetter
  }
  return (all & 0x80808080) === (0x80808080 | 0)
}

/** Whether the digits from the one at `from` up to the one before `to`, a multiple of four, are zeros. */
export function areZeros(from: number, to: number): boolean {
  let digit = from
  for (; digit < to && digit % DIGITS_PER_WORD !== 0; digit += 1) if (!isZero(digit)) return false
  for (; digit < to; digit += DIGITS_PER_WORD) {
    if (words[wordOf(digit)] !== FOUR_ZEROS) return false
  }
  return true
}

function isZero(digit: number): boolean {
  return memory[FIRST_BYTE + digit] === ZERO
}

function wordOf(digit: number): number {
  return 1 + digit / DIGITS_PER_WORD
}

/** Whether all of these ranges are zeros: from, inclusive, a multiple of four, to, exclusive. Looked at again and again, of one text after the other. */
export function zerosIn(ranges: readonly { from: number; to: number }[]): () => boolean {
  const whole: number[] = []
  const single: number[] = []
  for (const { from, to } of ranges) {
    let digit = from
    for (; digit + DIGITS_PER_WORD <= to; digit += DIGITS_PER_WORD) whole.push(wordOf(digit))
    for (; digit < to; digit += 1) single.push(digit)
  }
  return () => {
    for (const word of whole) if (words[word] !== FOUR_ZEROS) return false
    return single.every(isZero)
  }
}

/** What the eight lower-case digits from the one at `at` on say, a multiple of four. */
export function numberAt(at: number): number {
  let number = 0
  let byte = FIRST_BYTE + at
  const end = byte + 2 * DIGITS_PER_WORD
  // Nearly always.
  if (words[wordOf(at)] === FOUR_ZEROS) byte += DIGITS_PER_WORD
  for (; byte < end; byte += 1) {
    const code = memory[byte] ?? 0
    number = number * 16 + (code <= NINE ? code - ZERO : code - BEFORE_A)
  }
  return number
}
