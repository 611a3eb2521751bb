/** One line of a text: its number from 1, and its text; null where it is longer than is read, or no UTF-8. */
export interface BoundedLine {
  number: number
  text: string | null
  /** Why there is no text. */
  reason: string | null
}

const NEWLINE = 0x0a

/**
 * The lines of a stream, one after the other, without their ends. Memory holds one chunk and one line of at most
 * `maxBytes`, whatever the stream is: of a longer line only the fact that there was one is kept.
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
