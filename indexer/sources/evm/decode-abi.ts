import { AbiCoder } from 'ethers'
import type { Layout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { canonicalDecoder, type AbiTexts, type CanonicalDecoder } from './decode-canonical.ts'

/** (pure) Strict ABI decoding: data that does not encode back to exactly the same bytes is rejected. */

const coder = AbiCoder.defaultAbiCoder()

/** Values by name. Each reader throws a TypeError for a value of another type. */
export class Fields {
  readonly #names: readonly string[]
  readonly #values: AbiTexts

  constructor(names: readonly string[], values: AbiTexts) {
    this.#names = names
    this.#values = values
  }

  /** A uint256 as decimal text. */
  uint(name: string): string {
    return uintText(this.#value(name))
  }

  /** Checksummed. */
  address(name: string): string {
    return checksummed(hexText(this.#value(name)))
  }

  /** Lower-case hex. */
  hex(name: string): string {
    return hexText(this.#value(name))
  }

  /** No parameter is a list, so a name's index is its value's index. */
  #value(name: string): string | undefined {
    const place = this.#names.indexOf(name)
    return place === -1 ? undefined : this.#values.at(place)
  }
}

/** Throws a TypeError unless the value is decimal text. */
export function uintText(value: string | undefined): string {
  if (value !== undefined && !value.startsWith('0x')) return value
  throw new TypeError('not an integer')
}

/** Throws a TypeError unless the value is hex. */
export function hexText(value: string | undefined): string {
  if (value?.startsWith('0x') === true) return value
  throw new TypeError('not bytes')
}

/** Keyed by the list itself, since a layout's list is created once. */
const decoders = new WeakMap<readonly string[], CanonicalDecoder>()

function decoderOf(types: readonly string[]): CanonicalDecoder {
  let decoder = decoders.get(types)
  if (decoder === undefined) decoders.set(types, (decoder = canonicalDecoder(types)))
  return decoder
}

/** Decodes by slices of the text; returns null for data that is not canonical. ethers then gives the reason. */
export function decodeBySlices(types: readonly string[], data: string): AbiTexts | null {
  return decoderOf(types)(data)
}

/**
 * Decodes `data`, which is lower-case hex. Throws when it is not the canonical encoding of such values; ethers gives
 * the reason.
 */
export function decodeStrictly(types: readonly string[], data: string): AbiTexts {
  return decodeBySlices(types, data) ?? decodeByEthers(types, data)
}

/** Decodes like {@link decodeStrictly}, by ethers' general coder, which takes far longer. */
export function decodeByEthers(types: readonly string[], data: string): string[] {
  const values: unknown[] = coder.decode(types, data).toArray(true)
  if (coder.encode(types, values) !== data) throw new Error('not the canonical encoding')
  return values.flat().map(textOf)
}

function textOf(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') return value.toLowerCase()
  throw new TypeError('a value of another type')
}

/** Throws when the data is not the canonical encoding of the layout's types. */
export function decodeFields(layout: Layout, data: string): Fields {
  return new Fields(layout.names, decodeStrictly(layout.types, data))
}
