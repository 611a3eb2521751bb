/** (pure) Text that somebody else wrote. */

/**
 * At most `length` characters that Postgres takes as text and as JSON: no NUL or other control characters, no half of
 * a surrogate pair, also where the text is cut.
 */
export function storableText(text: string, length = 1_000): string {
  return text
    .slice(0, length)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/\p{Cs}/gu, '\u{FFFD}')
}

/** A copy: V8 makes a part of a text a view, which keeps the whole text in memory. Without lone surrogates. */
export function ownText(text: string): string {
  return Buffer.from(text).toString()
}
