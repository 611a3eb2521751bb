import { isAscii } from 'node:buffer'
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
 * Each endpoint reads one large body at a time, so that large bodies do not add up. The others wait in their sockets.
 */
export class LargeBodies {
  #last: Promise<void> = Promise.resolve()

  /** Returns room for one body of at most `mostBytes`. The caller must always `leave` it. */
  enter(mostBytes: number): BodyRoom {
    return new BodyRoom(mostBytes, () => this.#queue())
  }

  async #queue(): Promise<() => void> {
    const before = this.#last
    let done: () => void = () => undefined
    this.#last = new Promise((resolve) => (done = resolve))
    await before
    return done
  }
}

export class BodyRoom {
  readonly mostBytes: number
  readonly #queue: () => Promise<() => void>
  #turn: Promise<() => void> | null = null

  constructor(mostBytes: number, queue: () => Promise<() => void>) {
    this.mostBytes = mostBytes
    this.#queue = queue
  }

  /** Resolves once a body of this many bytes may be held. */
  async grow(bytes: number): Promise<void> {
    if (bytes <= SMALL_BODY) return
    this.#turn ??= this.#queue()
    await this.#turn
  }

  leave(): void {
    void this.#turn?.then((done) => done())
  }
}
