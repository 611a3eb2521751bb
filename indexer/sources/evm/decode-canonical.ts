/**
 * (pure) The contract ABI by slices of the hex text: takes the one canonical encoding of some values and nothing else.
 * Knows the types that the two contracts use: uint, address, bytes32, bytes, and lists of known length of these.
 */

/**
 * Values, those of lists one after the other: integers as decimal text, addresses and bytes as lower-case hex. A text is made
 * when it is asked for: of most answers a few are.
 */
export interface AbiTexts {
  readonly length: number
  at(index: number): string | undefined
}

/** Null where `data` (`0x` and lower-case hex) is not the canonical encoding of the decoder's types. */
export type CanonicalDecoder = (data: string) => AbiTexts | null

type Kind = 'uint' | 'address' | 'bytes32' | 'bytes'

/** One of the types. A word is 64 digits; places are indexes into the text. */
interface Shape {
  kind: Kind
  /** Digits that a word of it must begin with. */
  zeros: string
  /** How many there are of it. */
  length: number
  isList: boolean
}

/** A value's kind and place: where its word is, or of `bytes` the how manieth it is. */
interface Place {
  kind: Kind
  at: number
}

const WORD = 64
const ZEROS = '0'.repeat(WORD)
/** Digits of an address. */
const ADDRESS = 40
/** Digits of an offset or a length that is looked at: more than any data that a node can send. */
const SMALL_DIGITS = 7
const BEFORE_SMALL = ZEROS.slice(SMALL_DIGITS)
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13
const BEFORE_SAFE = ZEROS.slice(SAFE_DIGITS)

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const shapes = types.map(shapeOf)
  const headDigits = shapes.reduce((digits, shape) => digits + headDigitsOf(shape), 0)
  const places = placesOf(shapes)
  return (data) => {
    const reader = new Reader(data, 2 + headDigits)
    return reader.takes(shapes) ? new TextsOf(data, places, reader.tails) : null
  }
}

function headDigitsOf(shape: Shape): number {
  return WORD * (isDynamic(shape) ? 1 : shape.length)
}

function placesOf(shapes: readonly Shape[]): Place[] {
  let head = 2
  let tails = 0
  return shapes.flatMap((shape) => {
    const { kind, length } = shape
    const start = head
    head += headDigitsOf(shape)
    return Array.from({ length }, (_, index) =>
      isDynamic(shape) ? { kind, at: tails++ } : { kind, at: start + index * WORD },
    )
  })
}

function shapeOf(type: string): Shape {
  const [, item = '', length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (length === undefined) return { ...shapeOfOne(type), length: 1, isList: false }
  return { ...shapeOfOne(item), length: Number(length), isList: true }
}

function shapeOfOne(type: string): Pick<Shape, 'kind' | 'zeros'> {
  const bits = /^uint(\d+)$/.exec(type)?.[1]
  if (bits !== undefined) return { kind: 'uint', zeros: ZEROS.slice(Number(bits) / 4) }
  if (type === 'address') return { kind: type, zeros: ZEROS.slice(ADDRESS) }
  if (type === 'bytes32' || type === 'bytes') return { kind: type, zeros: '' }
  throw new Error(`the type ${type} is not read`)
}

function isDynamic({ kind }: Shape): boolean {
  return kind === 'bytes'
}

class TextsOf implements AbiTexts {
  readonly #data: string
  readonly #places: readonly Place[]
  readonly #tails: readonly number[]

  constructor(data: string, places: readonly Place[], tails: readonly number[]) {
    this.#data = data
    this.#places = places
    this.#tails = tails
  }

  get length(): number {
    return this.#places.length
  }

  at(index: number): string | undefined {
    const place = this.#places[index]
    if (place === undefined) return undefined
    const { kind, at } = place
    switch (kind) {
      case 'uint':
        return this.#uint(at)
      case 'address':
        return this.#hex(at + WORD - ADDRESS, at + WORD)
      case 'bytes32':
        return this.#hex(at, at + WORD)
      case 'bytes':
        return this.#hex(this.#tails[2 * at] ?? 0, this.#tails[2 * at + 1] ?? 0)
    }
  }

  #hex(start: number, end: number): string {
    return `0x${this.#data.slice(start, end)}`
  }

  #uint(at: number): string {
    return this.#data.startsWith(BEFORE_SAFE, at)
      ? String(Number.parseInt(this.#data.slice(at + WORD - SAFE_DIGITS, at + WORD), 16))
      : BigInt(this.#hex(at, at + WORD)).toString()
  }
}

/** One text that is read from its heads to its last tail. Every reading says whether all was as it must be. */
class Reader {
  /** Of each `bytes`, one after the other, where it begins and where it ends. */
  readonly tails: number[] = []
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
          this.#pointsAtTail(head, 2) && (shape.isList ? this.#takesList(shape.length) : this.#takesBytes())
        if (!isTaken) return false
        head += WORD
      } else {
        for (let index = 0; index < shape.length; index += 1, head += WORD) {
          if (!this.#data.startsWith(shape.zeros, head)) return false
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
    let number = 0
    for (let digit = at + WORD - SMALL_DIGITS; digit < at + WORD; digit += 1) {
      number = number * 16 + digitOf(this.#data.charCodeAt(digit))
    }
    return number
  }

  #takesList(length: number): boolean {
    const start = this.#tail
    this.#tail += length * WORD
    if (this.#tail > this.#data.length) return false
    for (let index = 0; index < length; index += 1) {
      if (!this.#pointsAtTail(start + index * WORD, start) || !this.#takesBytes()) return false
    }
    return true
  }

  #takesBytes(): boolean {
    const start = this.#tail + WORD
    if (start > this.#data.length) return false
    const end = start + this.#small(this.#tail) * 2
    const padded = start + Math.ceil((end - start) / WORD) * WORD
    // Also where it is NaN.
    if (!(padded <= this.#data.length)) return false
    if (!this.#data.startsWith(ZEROS.slice(0, padded - end), end)) return false
    this.tails.push(start, end)
    this.#tail = padded
    return true
  }
}

const ZERO_CODE = 0x30
const NINE_CODE = 0x39
/** Of `a`, less its value. */
const BEFORE_A_CODE = 0x57

/** Of a lower-case hex digit; of anything else no digit's value. */
function digitOf(code: number): number {
  return code <= NINE_CODE ? code - ZERO_CODE : code - BEFORE_A_CODE
}
