/** (pure) Handles text of external origin. */

/**
 * Returns at most `length` characters that Postgres accepts as text and as JSON. Control characters (NUL too) become
 * spaces. Lone surrogates become U+FFFD, also where the text is cut.
 */
export function storableText(text: string, length = 1_000): string {
  return text
    .slice(0, length)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/\p{Cs}/gu, '\u{FFFD}')
}

/** Copies the text: V8's slice is a view that keeps the whole text in memory. Lone surrogates are replaced. */
export function ownText(text: string): string {
  return Buffer.from(text).toString()
}
