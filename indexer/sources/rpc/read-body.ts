import { isAscii } from 'node:buffer'
import type { LimitFunction } from 'p-limit'
import { AnswerTooLarge } from './rpc-error.ts'

const FIRST_BYTES = 16 * 1024

/** Reads the whole body into one buffer, however small its chunks are. Throws an AnswerTooLarge. */
export async function readBody(chunks: AsyncIterable<Buffer>, room: BodyRoom): Promise<Buffer> {
  let body = Buffer.allocUnsafe(FIRST_BYTES)
  let used = 0
  for await (const chunk of chunks) {
    const needed = used + chunk.byteLength
    if (needed > room.mostBytes) throw tooLarge(room)
    await room.grow(needed)
    if (needed > body.byteLength) {
      const larger = Buffer.allocUnsafe(Math.min(room.mostBytes, Math.max(needed, body.byteLength * 2)))
      body.copy(larger, 0, 0, used)
      body = larger
    }
    used += chunk.copy(body, used)
  }
  return body.subarray(0, used)
}

export function tooLarge({ mostBytes }: BodyRoom): AnswerTooLarge {
  return new AnswerTooLarge(`its answer has more than ${mostBytes} bytes`)
}

/** Returns the text without a byte order mark; invalid UTF-8 is replaced. */
export function textOf(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1')
  const text = body.toString()
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/** Bodies of at most this many bytes are read side by side. */
const SMALL_BODY = 256 * 1024

/**
 * Room for one body of at most `mostBytes`. Each endpoint reads one large body at a time (`turns` runs one task at once), so
 * that large bodies do not add up. The others wait in their sockets. The caller must always `leave` it.
 */
export class BodyRoom {
  readonly mostBytes: number
  readonly #turns: LimitFunction
  #turn: Promise<void> | null = null
  #leave: () => void = () => undefined
  readonly #left = new Promise<void>((resolve) => (this.#leave = resolve))

  constructor(mostBytes: number, turns: LimitFunction) {
    this.mostBytes = mostBytes
    this.#turns = turns
  }

  /** Resolves once a body of this many bytes may be held. */
  async grow(bytes: number): Promise<void> {
    if (bytes <= SMALL_BODY) return
    this.#turn ??= new Promise((begin) => {
      void this.#turns(() => {
        begin()
        return this.#left
      })
    })
    await this.#turn
  }

  leave(): void {
    this.#leave()
  }
}
