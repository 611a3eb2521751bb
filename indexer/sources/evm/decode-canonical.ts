/**
 * (pure) The contract ABI by slices of the hex text: takes the one canonical encoding of some values and nothing else.
 * Knows the types that the two contracts use: uint, address, bytes32, bytes, and lists of known length of these.
 */

/**
 * Reads the values of one list of types, lists laid out one value after the other: integers as decimal text, addresses
 * and bytes as lower-case hex. Null where `data` (`0x` and lower-case hex) is not their canonical encoding.
 */
export type CanonicalDecoder = (data: string) => string[] | null

/** One of the types. A word is 64 digits; places are indexes into the text. */
interface Shape {
  kind: 'uint' | 'address' | 'bytes32' | 'bytes'
  /** Digits that a word of it must begin with. */
  zeros: string
  /** How many there are of it. */
  length: number
  isList: boolean
}

const WORD = 64
const ZEROS = '0'.repeat(WORD)
/** Digits of an offset or a length that is looked at: more than any data that a node can send. */
const SMALL_DIGITS = 8
const BEFORE_SMALL = ZEROS.slice(SMALL_DIGITS)
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13
const BEFORE_SAFE = ZEROS.slice(SAFE_DIGITS)

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const shapes = types.map(shapeOf)
  const headWords = shapes.reduce((words, shape) => words + (isDynamic(shape) ? 1 : shape.length), 0)
  return (data) => {
    const reader = new Reader(data, 2 + headWords * WORD)
    return reader.takes(shapes) ? reader.values : null
  }
}

function shapeOf(type: string): Shape {
  const [, item = '', length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (length === undefined) return { ...shapeOfOne(type), length: 1, isList: false }
  return { ...shapeOfOne(item), length: Number(length), isList: true }
}

function shapeOfOne(type: string): Pick<Shape, 'kind' | 'zeros'> {
  const bits = /^uint(\d+)$/.exec(type)?.[1]
  if (bits !== undefined) return { kind: 'uint', zeros: ZEROS.slice(Number(bits) / 4) }
  if (type === 'address') return { kind: type, zeros: ZEROS.slice(40) }
  if (type === 'bytes32' || type === 'bytes') return { kind: type, zeros: '' }
  throw new Error(`the type ${type} is not read`)
}

function isDynamic({ kind }: Shape): boolean {
  return kind === 'bytes'
}

/** One text that is read from its heads to its last tail. Every reading says whether all was as it must be. */
class Reader {
  readonly values: string[] = []
  readonly #data: string
  /** Where the next tail must begin: they follow each other without a gap. */
  #tail: number

  constructor(data: string, tail: number) {
    this.#data = data
    this.#tail = tail
  }

  takes(shapes: readonly Shape[]): boolean {
    if (this.#tail > this.#data.length) return false
    let head = 2
    for (const shape of shapes) {
      if (isDynamic(shape)) {
        const isTaken =
          this.#pointsAtTail(head, 2) && (shape.isList ? this.#list(shape.length) : this.#bytes())
        if (!isTaken) return false
        head += WORD
      } else {
        for (let index = 0; index < shape.length; index += 1, head += WORD) {
          if (!this.#word(shape, head)) return false
        }
      }
    }
    return this.#tail === this.#data.length
  }

  /** Offsets count from where the list of their heads begins. */
  #pointsAtTail(at: number, start: number): boolean {
    return this.#small(at) === (this.#tail - start) / 2
  }

  /** A number of bytes; NaN where it is beyond any. */
  #small(at: number): number {
    if (!this.#data.startsWith(BEFORE_SMALL, at)) return Number.NaN
    return Number.parseInt(this.#data.slice(at + WORD - SMALL_DIGITS, at + WORD), 16)
  }

  #list(length: number): boolean {
    const start = this.#tail
    this.#tail += length * WORD
    if (this.#tail > this.#data.length) return false
    for (let index = 0; index < length; index += 1) {
      if (!this.#pointsAtTail(start + index * WORD, start) || !this.#bytes()) return false
    }
    return true
  }

  #bytes(): boolean {
    const start = this.#tail + WORD
    if (start > this.#data.length) return false
    const end = start + this.#small(this.#tail) * 2
    const padded = start + Math.ceil((end - start) / WORD) * WORD
    // Also where it is NaN.
    if (!(padded <= this.#data.length)) return false
    if (!this.#data.startsWith(ZEROS.slice(0, padded - end), end)) return false
    this.values.push(`0x${this.#data.slice(start, end)}`)
    this.#tail = padded
    return true
  }

  #word({ kind, zeros }: Shape, at: number): boolean {
    if (!this.#data.startsWith(zeros, at)) return false
    this.values.push(kind === 'uint' ? this.#uint(at) : `0x${this.#data.slice(at + zeros.length, at + WORD)}`)
    return true
  }

  #uint(at: number): string {
    return this.#data.startsWith(BEFORE_SAFE, at)
      ? String(Number.parseInt(this.#data.slice(at + WORD - SAFE_DIGITS, at + WORD), 16))
      : BigInt(`0x${this.#data.slice(at, at + WORD)}`).toString()
  }
}
