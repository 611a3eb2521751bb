import { areZeros, layOut, numberAt, zerosIn } from './hex-digits.ts'

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

/** Null where `data` (`0x` and lower-case hex) is not the canonical encoding of the decoder's types, or longer than is laid out. */
export type CanonicalDecoder = (data: string) => AbiTexts | null

type Kind = 'uint' | 'address' | 'bytes32' | 'bytes'

/** One of the types. A word is 64 digits; places count digits, from the first after `0x` on. */
interface Shape {
  kind: Kind
  /** As many zeros a word of it must begin with. */
  zeros: number
  /** How many there are of it. */
  length: number
  isList: boolean
}

/** A value's kind and place: where its word is, or of `bytes` the how manieth it is. */
interface Place {
  kind: Kind
  at: number
}

/** `0x`. */
const PREFIX = 2
const WORD = 64
/** Digits of an address. */
const ADDRESS = 40
/** Digits of an offset or a length that are looked at, as many as `numberAt` takes: more than any data that a node can send. Those before them are zeros. */
const SMALL_DIGITS = 8
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13
const BEFORE_SAFE = '0'.repeat(WORD - SAFE_DIGITS)

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const heads = headsOf(types.map(shapeOf))
  const headDigits = heads.length * WORD
  const places = placesOf(heads)
  const hasZeros = zerosIn(heads.map(({ shape, at }) => ({ from: at, to: at + shape.zeros })))
  const pointing = heads.filter(({ shape }) => isDynamic(shape))
  return (data) => {
    const digits = data.length - PREFIX
    if (digits < headDigits || !layOut(data) || !hasZeros()) return null
    const reader = new Reader(digits, headDigits)
    return reader.takes(pointing) ? new TextsOf(data, places, reader.tails) : null
  }
}

/** A word before the first tail: a value, or where one's tail begins. */
interface Head {
  shape: Shape
  at: number
}

function headsOf(shapes: readonly Shape[]): Head[] {
  return shapes
    .flatMap((shape) => Array.from({ length: isDynamic(shape) ? 1 : shape.length }, () => shape))
    .map((shape, index) => ({ shape, at: index * WORD }))
}

function placesOf(heads: readonly Head[]): Place[] {
  let tails = 0
  return heads.flatMap(({ shape, at }) => {
    const { kind, length } = shape
    return isDynamic(shape) ? Array.from({ length }, () => ({ kind, at: tails++ })) : [{ kind, at }]
  })
}

function shapeOf(type: string): Shape {
  const [, item = '', length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (length === undefined) return { ...shapeOfOne(type), length: 1, isList: false }
  return { ...shapeOfOne(item), length: Number(length), isList: true }
}

function shapeOfOne(type: string): Pick<Shape, 'kind' | 'zeros'> {
  const bits = /^uint(\d+)$/.exec(type)?.[1]
  if (bits !== undefined) return { kind: 'uint', zeros: WORD - Number(bits) / 4 }
  if (type === 'address') return { kind: type, zeros: WORD - ADDRESS }
  if (type === 'bytes32' || type === 'bytes') return { kind: type, zeros: 0 }
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
    return `0x${this.#data.slice(PREFIX + start, PREFIX + end)}`
  }

  #uint(at: number): string {
    const end = PREFIX + at + WORD
    return this.#data.startsWith(BEFORE_SAFE, PREFIX + at)
      ? String(Number.parseInt(this.#data.slice(end - SAFE_DIGITS, end), 16))
      : BigInt(this.#hex(at, at + WORD)).toString()
  }
}

/** What is laid out, read from its heads to its last tail; places count its digits. Every reading says whether all was as it must be. */
class Reader {
  /** Of each `bytes`, one after the other, where it begins and where it ends. */
  readonly tails: number[] = []
  readonly #digits: number
  /** Where the next tail must begin: they follow each other without a gap. */
  #tail: number

  constructor(digits: number, tail: number) {
    this.#digits = digits
    this.#tail = tail
  }

  /** All tails that these heads point at, and nothing after them. */
  takes(heads: readonly Head[]): boolean {
    for (const { shape, at } of heads) {
      if (!this.#pointsAtTail(at, 0)) return false
      if (!(shape.isList ? this.#takesList(shape.length) : this.#takesBytes())) return false
    }
    return this.#tail === this.#digits
  }

  /** Offsets count from where the list of their heads begins. */
  #pointsAtTail(at: number, start: number): boolean {
    return smallAt(at) === (this.#tail - start) / 2
  }

  #takesList(length: number): boolean {
    const start = this.#tail
    this.#tail += length * WORD
    if (this.#tail > this.#digits) return false
    for (let index = 0; index < length; index += 1) {
      if (!this.#pointsAtTail(start + index * WORD, start) || !this.#takesBytes()) return false
    }
    return true
  }

  #takesBytes(): boolean {
    const start = this.#tail + WORD
    if (start > this.#digits) return false
    const end = start + smallAt(this.#tail) * 2
    const padded = start + Math.ceil((end - start) / WORD) * WORD
    // Also where it is NaN.
    if (!(padded <= this.#digits)) return false
    if (!areZeros(end, padded)) return false
    this.tails.push(start, end)
    this.#tail = padded
    return true
  }
}

/** A number of bytes; NaN where it is beyond any. */
function smallAt(at: number): number {
  const small = at + WORD - SMALL_DIGITS
  return areZeros(at, small) ? numberAt(small) : Number.NaN
}
