import { AbiCoder } from 'ethers'
import type { Layout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { canonicalDecoder, type AbiTexts, type CanonicalDecoder } from './decode-canonical.ts'

/** (pure) Strict ABI decoding: what does not encode back to exactly the same bytes does not decode. */

const coder = AbiCoder.defaultAbiCoder()

/** Values by name, with readers that refuse a value of another type than the one that is asked for. */
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

  /** No list is among parameters: a name's place is its value's. */
  #value(name: string): string | undefined {
    const place = this.#names.indexOf(name)
    return place === -1 ? undefined : this.#values.at(place)
  }
}

export function uintText(value: string | undefined): string {
  if (value !== undefined && !value.startsWith('0x')) return value
  throw new TypeError('not an integer')
}

export function hexText(value: string | undefined): string {
  if (value?.startsWith('0x') === true) return value
  throw new TypeError('not bytes')
}

/** By the list of types itself: those of a layout are made once. */
const decoders = new WeakMap<readonly string[], CanonicalDecoder>()

function decoderOf(types: readonly string[]): CanonicalDecoder {
  let decoder = decoders.get(types)
  if (decoder === undefined) decoders.set(types, (decoder = canonicalDecoder(types)))
  return decoder
}

/** Values by slices of the text; null where the data is not canonical: ethers then says why. */
export function decodeBySlices(types: readonly string[], data: string): AbiTexts | null {
  return decoderOf(types)(data)
}

/**
 * Throws when the data is not the canonical encoding of such values; what is wrong with it, ethers says. `data` is
 * lower-case hex.
 */
export function decodeStrictly(types: readonly string[], data: string): AbiTexts {
  return decodeBySlices(types, data) ?? decodeByEthers(types, data)
}

/** As {@link decodeStrictly}, by the general coder, which takes far longer. */
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

export function decodeFields(layout: Layout, data: string): Fields {
  return new Fields(layout.names, decodeStrictly(layout.types, data))
}
