/** (pure) Checks a JSON text before it is parsed: a megabyte of `{},` parses to twenty. */

export interface JsonBounds {
  /**
   * Most values; each opening bracket and each comma begins one. A value takes at most 130 bytes of V8's heap beside
   * its text.
   */
  values: number
}

/** Deeper than any node's answer. A repeated `[` costs V8 fifty bytes per character. */
const MOST_DEPTH = 64
/** Longer than any number or word of JSON, including the spaces around it. */
const LONGEST_TOKEN = 1_000
/** Characters up to which a loop finds a string's end sooner than a native search. */
const SHORT_STRING = 16

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPENS = new Set([0x5b, 0x7b])
const CLOSES = new Set([0x5d, 0x7d])

const PLAIN = 0
const OPENING = 1
const CLOSING = 2
const SEPARATING = 3
const QUOTING = 4

/** The effect of each byte outside of a string. */
const MEANING = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE) return QUOTING
  if (byte === COMMA || byte === COLON) return SEPARATING
  if (OPENS.has(byte)) return OPENING
  return CLOSES.has(byte) ? CLOSING : PLAIN
})

/**
 * Returns the first bound that the text exceeds, in words for a message; null when it exceeds none. Invalid JSON is not
 * detected here.
 */
export function exceededBound(bytes: Uint8Array, { values: most }: JsonBounds): string | null {
  let values = 0
  let depth = 0
  /** Index of the last byte that is not part of a plain word or number. */
  let last = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    const meaning = MEANING[byte]
    if (meaning === PLAIN) continue
    if (at - last > LONGEST_TOKEN) return 'a number or word too long'
    if (meaning === QUOTING) at = endOfString(bytes, at)
    else if (meaning === CLOSING) depth -= 1
    else if (meaning === OPENING) {
      depth += 1
      values += 1
      if (depth > MOST_DEPTH) return `lists nested deeper than ${MOST_DEPTH}`
    } else if (byte === COMMA) values += 1
    if (values > most) return `more than ${most} values`
    last = at
  }
  return bytes.length - last > LONGEST_TOKEN ? 'a number or word too long' : null
}

/** Returns the index of the closing quote, or the end of the text when there is none. */
function endOfString(bytes: Uint8Array, opening: number): number {
  let at = opening + 1
  for (const short = Math.min(bytes.length, at + SHORT_STRING); at < short;) {
    if (bytes[at] === QUOTE) return at
    at += bytes[at] === BACKSLASH ? 2 : 1
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) return bytes.length
    let escapes = quote
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1
    if ((quote - escapes) % 2 === 0) return quote
    at = quote + 1
  }
}
