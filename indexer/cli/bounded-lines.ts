/**
 * One line of a text: its number, counted from 1, and its text. The text is null when the line is too long or not
 * UTF-8.
 */
export interface BoundedLine {
  number: number
  text: string | null
  /** Why the text is null. */
  reason: string | null
}

const NEWLINE = 0x0a

/**
 * Yields the lines of a stream in order, without line ends. Memory holds one chunk and one line of at most `maxBytes`.
 * A longer line is reported without its text.
 */
export async function* boundedLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<BoundedLine> {
  let number = 1
  let parts: Uint8Array[] = []
  let length = 0
  const take = (part: Uint8Array): void => {
    length += part.length
    if (length > maxBytes) parts = []
    else parts.push(part)
  }
  const finish = (): BoundedLine => {
    const line = toLine(number, length > maxBytes ? null : parts, maxBytes)
    number += 1
    parts = []
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, at))
      from = at + 1
      yield finish()
    }
    take(chunk.subarray(from))
  }
  if (length > 0) yield finish()
}

function toLine(number: number, parts: Uint8Array[] | null, maxBytes: number): BoundedLine {
  if (parts === null) return { number, text: null, reason: `it is longer than ${maxBytes} bytes` }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
    return { number, text: text.replace(/\r$/, ''), reason: null }
  } catch {
    return { number, text: null, reason: 'it is not UTF-8' }
  }
}
