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

/** What the columns of a type are given: numbers are whole and safe, JSON is its text. */
export interface ColumnValues {
  bigint: number
  integer: number
  text: string
  json: string
  timestamptz: Date
}

export type ColumnType = keyof ColumnValues

/**
 * The names of columns, each with its type as the table has it. Postgres refuses a value that is longer or shorter than its type's,
 * but of two types of one length it takes the one for the other.
 */
export type Columns = Readonly<Record<string, ColumnType>>

export type RowOf<C extends Columns> = { readonly [N in keyof C]: ColumnValues[C[N]] | null }

/** Of one character of a text: two of a surrogate pair take four. */
const MOST_BYTES_OF_CHARACTER = 3

/** The columns in the order in which a row has them. */
export function fieldsOf(columns: Columns): Field[] {
  return Object.entries(columns).map(([name, type]) => ({ name, type }))
}

export interface Field {
  name: string
  type: ColumnType
}

/**
 * Rows as Postgres reads them from a binary copy (its manual, COPY, "Binary Format"), each value as its type's receive function
 * has it: nothing is escaped here and taken apart there. Throws a RangeError for a number that its column cannot have and for no
 * date, and a TypeError for what is of another type.
 */
export class RowBytes {
  #bytes: Buffer
  #view: DataView
  #length = 0
  /** Rows that are written together mostly share their times. */
  #lastTime: Date | undefined
  #lastHigh = 0
  #lastLow = 0

  /** With room for as many bytes; it grows where they are more. */
  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#view = new DataView(this.#bytes.buffer)
  }

  get length(): number {
    return this.#length
  }

  /** What was written since the last call, good until something is written again. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    return taken
  }

  /** Of all that can be written before it grows. */
  get capacity(): number {
    return this.#bytes.length
  }

  /** What was written from there on is written no more. */
  cutTo(length: number): void {
    this.#length = length
  }

  /** Good until something else is written there. */
  between(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end)
  }

  /** Overwrites the integer in the field of that number, of a row that begins at `row`. */
  setInteger(row: number, field: number, value: number): void {
    let at = row + COUNT_BYTES
    for (let before = 0; before < field; before += 1) {
      at += WORD_BYTES + Math.max(this.#view.getInt32(at), 0)
    }
    if (this.#view.getInt32(at) !== WORD_BYTES) throw new TypeError(`field ${field} has no integer`)
    this.#view.setInt32(at + WORD_BYTES, whole32(value))
  }

  /** Flags and an extension of the header follow it: there are none. */
  signature(): void {
    this.#makeRoom(SIGNATURE.length + 2 * WORD_BYTES)
    this.#length += this.#bytes.write(SIGNATURE, this.#length, 'latin1')
    this.#int4(0)
    this.#int4(0)
  }

  row(fields: readonly Field[], row: Readonly<Record<string, unknown>>): void {
    this.#int2(fields.length)
    for (const { name, type } of fields) this.#field(type, row[name])
  }

  end(): void {
    this.#int2(END)
  }

  #int2(value: number): void {
    this.#makeRoom(COUNT_BYTES)
    this.#view.setInt16(this.#length, value)
    this.#length += COUNT_BYTES
  }

  #field(type: ColumnType, value: unknown): void {
    this.#makeRoom(WORD_BYTES + INT8_BYTES)
    if (value === null || value === undefined) this.#int4(NULL)
    else if (typeof value === 'string' && (type === 'text' || type === 'json')) this.#text(value)
    else if (typeof value === 'number' && type === 'bigint') this.#bigint(value)
    else if (typeof value === 'number' && type === 'integer') this.#integer(value)
    else if (value instanceof Date && type === 'timestamptz') this.#time(value)
    else throw new TypeError(`a column of type ${type} cannot have a ${typeof value}`)
  }

  #text(value: string): void {
    this.#makeRoom(WORD_BYTES + value.length * MOST_BYTES_OF_CHARACTER)
    const length = this.#bytes.write(value, this.#length + WORD_BYTES)
    this.#int4(length)
    this.#length += length
  }

  #integer(value: number): void {
    const whole = whole32(value)
    this.#int4(WORD_BYTES)
    this.#int4(whole)
  }

  #bigint(value: number): void {
    if (!Number.isSafeInteger(value)) {
      throw new RangeError(`${value} is no safe integer, as a column of type bigint is to have`)
    }
    this.#int8(Math.floor(value / TWO_TO_32), value)
  }

  #time(value: Date): void {
    if (this.#lastTime !== value) {
      const microseconds = BigInt(value.getTime() - YEAR_2000_MS) * BigInt(US_PER_MS)
      this.#lastHigh = Number(BigInt.asIntN(32, microseconds >> 32n))
      this.#lastLow = Number(BigInt.asIntN(32, microseconds))
      this.#lastTime = value
    }
    this.#int8(this.#lastHigh, this.#lastLow)
  }

  /** Of either half the lowest 32 bits count. */
  #int8(high: number, low: number): void {
    this.#int4(INT8_BYTES)
    this.#int4(high)
    this.#int4(low)
  }

  #int4(value: number): void {
    this.#view.setInt32(this.#length, value)
    this.#length += WORD_BYTES
  }

  #makeRoom(bytes: number): void {
    const wanted = this.#length + bytes
    if (wanted <= this.#bytes.length) return
    const more = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * this.#bytes.length))
    more.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = more
    this.#view = new DataView(more.buffer)
  }
}

function whole32(value: number): number {
  if ((value | 0) !== value) {
    throw new RangeError(`${value} is no whole number that a column of type integer can have`)
  }
  return value
}
