/**
 * (pure) Decodes the contract ABI by slices of the hex text and accepts the canonical encoding alone. It knows the
 * types of the two contracts: uint, address, bytes32, bytes, and lists of known length of these.
 */

/**
 * Decoded values with lists flattened: integers as decimal text, addresses and bytes as lower-case hex. A text is made
 * on access, since most answers are used in part.
 */
export interface AbiTexts {
  readonly length: number
  at(index: number): string | undefined
}

/** Returns null when `data` (`0x` and lower-case hex) is not the canonical encoding of the decoder's types. */
export type CanonicalDecoder = (data: string) => AbiTexts | null

type Kind = 'uint' | 'address' | 'bytes32' | 'bytes'

/** One of the types. A word is 64 digits; places count digits after `0x`. */
interface Shape {
  kind: Kind
  /** Number of zeros that a word of this type must begin with. */
  zeros: number
  /** Number of values. */
  length: number
  isList: boolean
}

/** A value's kind and place: the offset of its word, or the index of its tail for `bytes`. */
interface Place {
  kind: Kind
  at: number
}

/** Length of `0x`. */
const PREFIX = 2
const WORD = 64
/** Digits of an address. */
const ADDRESS = 40
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13
/** Texts of zeros by length, up to a word. */
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

/** A word before the first tail: a value, or the offset of its tail. */
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

/**
 * Reads the tails, which follow the heads without a gap. Its predicates return false when the encoding is not
 * canonical.
 */
class Reader {
  /** Start and end of each `bytes`, one after the other. */
  readonly tails: number[] = []
  readonly #data: string
  readonly #digits: number
  /** Place at which the next tail must begin. */
  #tail: number

  constructor(data: string, tail: number) {
    this.#data = data
    this.#digits = data.length - PREFIX
    this.#tail = tail
  }

  /** Takes all tails that these heads point at. Nothing may follow them. */
  takes(heads: readonly Head[]): boolean {
    for (const { shape, at } of heads) {
      if (!this.#pointsAtTail(at, 0)) return false
      if (!(shape.isList ? this.#takesList(shape.length) : this.#takesBytes())) return false
    }
    return this.#tail === this.#digits
  }

  /** Offsets count from the start of the list of heads. */
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
    // This form also rejects NaN.
    if (!(padded <= this.#digits)) return false
    if (!areZeros(this.#data, end, padded)) return false
    this.tails.push(start, end)
    this.#tail = padded
    return true
  }

  /** Returns the word at `at` as a number; NaN when it has more than {@link SAFE_DIGITS} digits. */
  #smallAt(at: number): number {
    return areZeros(this.#data, at, at + BEFORE_SAFE) ? numberIn(this.#data, at) : Number.NaN
  }
}

/** Tells whether the digits from `from` to the one before `to`, at most a word, are zeros. */
function areZeros(data: string, from: number, to: number): boolean {
  return data.startsWith(ZEROS[to - from] ?? '', PREFIX + from)
}

/** Returns the number in the last {@link SAFE_DIGITS} digits of the word at `at`. */
function numberIn(data: string, at: number): number {
  const end = PREFIX + at + WORD
  return Number.parseInt(data.slice(end - SAFE_DIGITS, end), 16)
}
