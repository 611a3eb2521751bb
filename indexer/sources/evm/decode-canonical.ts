/**
 * (pure) The contract ABI by slices of the hex text: takes the one canonical encoding of some values and nothing else.
 * Knows the types that the two contracts use: uint, address, bytes32, bytes, and lists of known length of these.
 */

/**
 * Values, those of lists one after the other: integers as decimal text, addresses and bytes as lower-case hex. A text is made
 * when it is asked for, since most answers are used in part.
 */
export interface AbiTexts {
  readonly length: number
  at(index: number): string | undefined
}

/** Null where `data` (`0x` and lower-case hex) is not the canonical encoding of the decoder's types. */
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

/** A value's kind and place: where its word is, or the index of its tail for `bytes`. */
interface Place {
  kind: Kind
  at: number
}

/** `0x`. */
const PREFIX = 2
const WORD = 64
/** Digits of an address. */
const ADDRESS = 40
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13
/** By length, up to a word. */
const ZEROS = Array.from({ length: WORD + 1 }, (_, length) => '0'.repeat(length))
const BEFORE_SAFE = WORD - SAFE_DIGITS

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const heads = headsOf(types.map(shapeOf))
  const headDigits = heads.length * WORD
  const places = placesOf(heads)
  const padded = heads.filter(({ shape }) => shape.zeros > 0)
  const pointing = heads.filter(({ shape }) => isDynamic(shape))
  return (data) => {
    const digits = data.length - PREFIX
    if (digits < headDigits || !data.startsWith('0x')) return null
    if (!padded.every(({ shape, at }) => areZeros(data, at, at + shape.zeros))) return null
    const reader = new Reader(data, headDigits)
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
    return areZeros(this.#data, at, at + BEFORE_SAFE)
      ? String(numberIn(this.#data, at))
      : BigInt(this.#hex(at, at + WORD)).toString()
  }
}

/** Reads the tails, which follow the heads without a gap. Every method returns false where the encoding is not canonical. */
class Reader {
  /** Where each `bytes` begins and where it ends, one after the other. */
  readonly tails: number[] = []
  readonly #data: string
  readonly #digits: number
  /** Where the next tail must begin. */
  #tail: number

  constructor(data: string, tail: number) {
    this.#data = data
    this.#digits = data.length - PREFIX
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
    return this.#smallAt(at) === (this.#tail - start) / 2
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
    const end = start + this.#smallAt(this.#tail) * 2
    const padded = start + Math.ceil((end - start) / WORD) * WORD
    // Also where it is NaN.
    if (!(padded <= this.#digits)) return false
    if (!areZeros(this.#data, end, padded)) return false
    this.tails.push(start, end)
    this.#tail = padded
    return true
  }

  /** The word at `at` as a number of bytes; NaN where it is beyond any. */
  #smallAt(at: number): number {
    return areZeros(this.#data, at, at + BEFORE_SAFE) ? numberIn(this.#data, at) : Number.NaN
  }
}

/** Whether the digits from `from` up to the one before `to`, at most a word, are zeros. */
function areZeros(data: string, from: number, to: number): boolean {
  return data.startsWith(ZEROS[to - from] ?? '', PREFIX + from)
}

/** The number in the last digits of the word at `at`. */
function numberIn(data: string, at: number): number {
  const end = PREFIX + at + WORD
  return Number.parseInt(data.slice(end - SAFE_DIGITS, end), 16)
}
