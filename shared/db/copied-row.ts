import {
  COUNT_BYTES,
  END,
  INT8_BYTES,
  NULL,
  SIGNATURE,
  TWO_TO_32,
  US_PER_MS,
  WORD_BYTES,
  YEAR_2000_MS,
} from './binary-format.ts'

/**
 * The row of a binary copy that is being read: its fields are asked for one after the other, each by its type, and what is of
 * another length than that is an error.
 */
export class CopiedRow {
  #message: Buffer = Buffer.alloc(0)
  #at = 0
  #fields = 0
  #field = 0
  #isFirst = true
  #start = 0
  /** Of the row before, by field: thousands say the same of their chain and their time. */
  readonly #texts: string[] = []
  #time: Date | undefined
  #timeHigh = 0
  #timeLow = 0

  /** Goes to the row that is in a message (one in each: Postgres's manual, Frontend/Backend Protocol, "COPY Operations"); false at the end. */
  goTo(message: Buffer): boolean {
    this.#message = message
    this.#start = this.#isFirst ? lengthOfHeader(message) : 0
    this.#isFirst = false
    this.#at = this.#start
    this.#field = 0
    this.#fields = message.readInt16BE(this.#at)
    this.#at += COUNT_BYTES
    return this.#fields !== END
  }

  /** Of the row as it came, which what it comes to takes in memory about as well, where some of its texts are long. */
  get bytes(): number {
    return this.#message.length - this.#start
  }

  /** Throws where there are fields that nobody asked for. */
  leave(): void {
    if (this.#field !== this.#fields) throw new Error(`a row has more than ${this.#field} fields`)
  }

  /** A safe integer: throws a RangeError for one that is none. */
  bigint(): number {
    return this.bigintOrNull() ?? this.#isNull()
  }

  bigintOrNull(): number | null {
    const length = this.#length()
    if (length === NULL) return null
    if (length !== INT8_BYTES) throw new Error(`field ${this.#field} is no bigint: it has ${length} bytes`)
    const high = this.#message.readInt32BE(this.#at)
    const value = high * TWO_TO_32 + this.#message.readUInt32BE(this.#at + WORD_BYTES)
    if (!Number.isSafeInteger(value))
      throw new RangeError(`${value} from the database is beyond the safe integers`)
    this.#at += length
    return value
  }

  text(): string {
    return this.textOrNull() ?? this.#isNull()
  }

  textOrNull(): string | null {
    const length = this.#length()
    if (length === NULL) return null
    const before = this.#texts[this.#field]
    if (before !== undefined && this.#says(before, length)) {
      this.#at += length
      return before
    }
    const text = this.#take(length)
    this.#texts[this.#field] = text
    return text
  }

  /** Null for a null of the database, as for one of JSON. */
  json(): unknown {
    const length = this.#length()
    return length === NULL ? null : JSON.parse(this.#take(length))
  }

  /**
   * Whole milliseconds of it; the object of the row before where that is the same, which nobody changes. Throws a RangeError for what
   * is no day, as infinity.
   */
  time(): Date {
    const length = this.#length()
    if (length === NULL) this.#isNull()
    if (length !== INT8_BYTES) throw new Error(`field ${this.#field} is no time: it has ${length} bytes`)
    const high = this.#message.readInt32BE(this.#at)
    const low = this.#message.readInt32BE(this.#at + WORD_BYTES)
    if (this.#time === undefined || this.#timeHigh !== high || this.#timeLow !== low) {
      const us = this.#message.readBigInt64BE(this.#at)
      const time = new Date(YEAR_2000_MS + Number(us / BigInt(US_PER_MS)))
      if (Number.isNaN(time.getTime())) throw new RangeError(`field ${this.#field} is beyond all dates`)
      this.#time = time
      this.#timeHigh = high
      this.#timeLow = low
    }
    this.#at += length
    return this.#time
  }

  #length(): number {
    if (this.#field === this.#fields) throw new Error(`a row has only ${this.#fields} fields`)
    const length = this.#message.readInt32BE(this.#at)
    this.#at += WORD_BYTES
    this.#field += 1
    return length
  }

  #take(length: number): string {
    const start = this.#at
    this.#at += length
    return this.#message.toString('utf8', start, this.#at)
  }

  /** Whether these bytes are that text, where it is all ASCII: no byte of another character is its code. */
  #says(text: string, length: number): boolean {
    if (text.length !== length) return false
    for (let at = 0; at < length; at += 1) {
      const byte = this.#message[this.#at + at]
      if (byte !== text.charCodeAt(at) || byte > MOST_OF_ASCII) return false
    }
    return true
  }

  #isNull(): never {
    throw new Error(`field ${this.#field} is null`)
  }
}

const MOST_OF_ASCII = 0x7f

function lengthOfHeader(message: Buffer): number {
  const words = SIGNATURE.length
  if (message.toString('latin1', 0, words) !== SIGNATURE) throw new Error('what came is no binary copy')
  return words + 2 * WORD_BYTES
}
