/**
 * (pure) Decodes the contract ABI by slices of the hex text and accepts the canonical encoding alone. It knows the
 * types of the two contracts: uint, address, bytes32, bytes, and lists of known length of these.
 */

/**
 * Returns the values with lists flattened: integers as decimal text, addresses and bytes as lower-case hex. Returns
 * null when `data` (`0x` and lower-case hex) is not the canonical encoding of the decoder's types.
 */
export type CanonicalDecoder = (data: string) => string[] | null

/** One of the types. A word is 64 digits; places are indexes of the text. */
interface Shape {
  kind: 'uint' | 'address' | 'bytes32' | 'bytes'
  /** Number of zeros that a word of this type must begin with. */
  zeros: number
  /** Number of values. */
  length: number
  isList: boolean
}

/** Length of `0x`. */
const PREFIX = 2
const WORD = 64
const ADDRESS_ZEROS = WORD - 40
/** A JavaScript number holds the 13 digits behind these exactly. */
const SMALL_ZEROS = WORD - 13
/** Texts of zeros by length, up to a word. */
const ZEROS = Array.from({ length: WORD + 1 }, (_, length) => '0'.repeat(length))

class NotCanonical extends Error {}

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const shapes = types.map(shapeOf)
  const heads = shapes.reduce((sum, { kind, length }) => sum + (kind === 'bytes' ? 1 : length), 0)
  return (data) => {
    try {
      return new Reader(data, PREFIX + heads * WORD).read(shapes)
    } catch (error) {
      if (error instanceof NotCanonical) return null
      throw error
    }
  }
}

function shapeOf(type: string): Shape {
  const [, item = '', length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (length === undefined) return { ...shapeOfOne(type), length: 1, isList: false }
  return { ...shapeOfOne(item), length: Number(length), isList: true }
}

function shapeOfOne(type: string): Pick<Shape, 'kind' | 'zeros'> {
  const bits = /^uint(\d+)$/.exec(type)?.[1]
  if (bits !== undefined) return { kind: 'uint', zeros: WORD - Number(bits) / 4 }
  if (type === 'address') return { kind: type, zeros: ADDRESS_ZEROS }
  if (type === 'bytes32' || type === 'bytes') return { kind: type, zeros: 0 }
  throw new Error(`the type ${type} is not read`)
}

/** Reads words from the heads, and `bytes` from the tails, which follow them without a gap. Throws NotCanonical. */
class Reader {
  readonly #data: string
  #head = PREFIX
  /** Place at which the next tail must begin. */
  #tail: number

  constructor(data: string, tail: number) {
    this.#data = data
    this.#tail = tail
  }

  read(shapes: readonly Shape[]): string[] {
    require(this.#data.startsWith('0x'))
    const values: string[] = []
    for (const shape of shapes) {
      if (shape.kind === 'bytes') this.#takeTail(shape, values)
      else for (let count = 0; count < shape.length; count += 1) values.push(this.#takeWord(shape))
    }
    require(this.#tail === this.#data.length)
    return values
  }

  #takeWord({ kind, zeros }: Shape): string {
    const word = this.#wordAt(this.#head)
    this.#head += WORD
    require(areZeros(word, zeros))
    if (kind !== 'uint') return `0x${kind === 'address' ? word.slice(ADDRESS_ZEROS) : word}`
    return areZeros(word, SMALL_ZEROS) ? smallIn(word).toString() : BigInt(`0x${word}`).toString()
  }

  #takeTail({ length, isList }: Shape, values: string[]): void {
    require(this.#pointsAtTail(this.#head, PREFIX))
    this.#head += WORD
    if (!isList) {
      values.push(this.#takeBytes())
      return
    }
    const start = this.#tail
    this.#tail += length * WORD
    for (let index = 0; index < length; index += 1) {
      require(this.#pointsAtTail(start + index * WORD, start))
      values.push(this.#takeBytes())
    }
  }

  /** Offsets count bytes from the start of the list of heads. */
  #pointsAtTail(at: number, start: number): boolean {
    return this.#smallAt(at) === (this.#tail - start) / 2
  }

  #takeBytes(): string {
    const start = this.#tail + WORD
    const end = start + this.#smallAt(this.#tail) * 2
    this.#tail = start + Math.ceil((end - start) / WORD) * WORD
    require(this.#tail <= this.#data.length && areZeros(this.#data.slice(end, this.#tail), this.#tail - end))
    return `0x${this.#data.slice(start, end)}`
  }

  #smallAt(at: number): number {
    const word = this.#wordAt(at)
    require(areZeros(word, SMALL_ZEROS))
    return smallIn(word)
  }

  #wordAt(at: number): string {
    const word = this.#data.slice(at, at + WORD)
    require(word.length === WORD)
    return word
  }
}

function require(isCanonical: boolean): void {
  if (!isCanonical) throw new NotCanonical()
}

function areZeros(text: string, count: number): boolean {
  return text.startsWith(ZEROS[count] ?? '')
}

function smallIn(word: string): number {
  return Number.parseInt(word.slice(SMALL_ZEROS), 16)
}
