/**
 * (pure) The contract ABI by slices of the hex text: takes the one canonical encoding of some values and nothing else.
 * Knows the types that the two contracts use: uint, address, bytes32, bytes, and lists of known length of these.
 */

/** Integers as decimal text, addresses as lower-case hex, bytes as lower-case hex; lists as lists. */
export type AbiValue = string | AbiValue[]

/** Reads the values of one list of types; null where `data` (`0x` and lower-case hex) is not their canonical encoding. */
export type CanonicalDecoder = (data: string) => AbiValue[] | null

/** How one type is read. A word is 64 digits; places are indexes into the text. */
interface Shape {
  /** Words in the head: one for what is pointed at. */
  headWords: number
  isDynamic: boolean
  /** At its own place, which for a dynamic one is its tail. */
  read: (reader: Reader, at: number) => AbiValue
}

const WORD = 64
const ZEROS = '0'.repeat(WORD)
/** Digits of an offset or a length that is looked at: more than any data that a node can send. */
const SMALL_DIGITS = 8
/** Digits that a JavaScript number holds exactly. */
const SAFE_DIGITS = 13

export function canonicalDecoder(types: readonly string[]): CanonicalDecoder {
  const shapes = types.map(shapeOf)
  return (data) => {
    const reader = new Reader(data)
    const values = readAll(reader, shapes, 2)
    return reader.isCanonical && reader.end === data.length ? values : null
  }
}

/** One text that is read from its heads to its last tail, and whether all of it was as it must be. */
class Reader {
  readonly data: string
  isCanonical = true
  /** Where the next tail must begin. */
  end = 2

  constructor(data: string) {
    this.data = data
  }

  /** A number of bytes. */
  small(at: number): number {
    const digits = at + WORD - SMALL_DIGITS
    this.isZero(at, digits)
    return Number.parseInt(this.data.slice(digits, at + WORD), 16)
  }

  isZero(from: number, to: number): void {
    if (!this.data.startsWith(ZEROS.slice(0, to - from), from)) this.isCanonical = false
  }

  has(end: number): boolean {
    if (end > this.data.length) this.isCanonical = false
    return this.isCanonical
  }
}

/** Values one after the other: heads from `start`, then the tails in their order, without a gap. */
function readAll(reader: Reader, shapes: readonly Shape[], start: number): AbiValue[] {
  let head = start
  reader.end = shapes.reduce((end, { headWords }) => end + headWords * WORD, start)
  const values: AbiValue[] = []
  if (!reader.has(reader.end)) return values
  for (const { headWords, isDynamic, read } of shapes) {
    if (!isDynamic) values.push(read(reader, head))
    else if (reader.small(head) === (reader.end - start) / 2) values.push(read(reader, reader.end))
    else reader.isCanonical = false
    if (!reader.isCanonical) return values
    head += headWords * WORD
  }
  return values
}

function shapeOf(type: string): Shape {
  const [, item, length] = /^(.+)\[(\d+)\]$/.exec(type) ?? []
  if (item !== undefined && length !== undefined) return listOf(shapeOf(item), Number(length))
  const bits = /^uint(\d+)$/.exec(type)?.[1]
  if (bits !== undefined) return uintOf(Number(bits))
  const shape = SHAPES[type]
  if (shape === undefined) throw new Error(`the type ${type} is not read`)
  return shape
}

const SHAPES: Record<string, Shape> = {
  address: {
    headWords: 1,
    isDynamic: false,
    read: (reader, at) => {
      reader.isZero(at, at + 24)
      return `0x${reader.data.slice(at + 24, at + WORD)}`
    },
  },
  bytes32: { headWords: 1, isDynamic: false, read: ({ data }, at) => `0x${data.slice(at, at + WORD)}` },
  bytes: { headWords: 1, isDynamic: true, read: readBytes },
}

function readBytes(reader: Reader, at: number): string {
  if (!reader.has(at + WORD)) return ''
  const length = reader.small(at) * 2
  const start = at + WORD
  const end = start + length
  const padded = start + Math.ceil(length / WORD) * WORD
  if (!reader.has(padded)) return ''
  reader.isZero(end, padded)
  reader.end = padded
  return `0x${reader.data.slice(start, end)}`
}

function uintOf(bits: number): Shape {
  const leading = WORD - bits / 4
  return {
    headWords: 1,
    isDynamic: false,
    read: (reader, at) => {
      reader.isZero(at, at + leading)
      const { data } = reader
      const safe = at + WORD - SAFE_DIGITS
      return data.startsWith(ZEROS.slice(SAFE_DIGITS), at)
        ? String(Number.parseInt(data.slice(safe, at + WORD), 16))
        : BigInt(`0x${data.slice(at, at + WORD)}`).toString()
    },
  }
}

function listOf(item: Shape, length: number): Shape {
  const items = Array.from({ length }, () => item)
  const { isDynamic } = item
  const read = (reader: Reader, at: number): AbiValue[] => {
    if (isDynamic) return readAll(reader, items, at)
    return items.map((one, index) => one.read(reader, at + index * item.headWords * WORD))
  }
  return { headWords: isDynamic ? 1 : length * item.headWords, isDynamic, read }
}
