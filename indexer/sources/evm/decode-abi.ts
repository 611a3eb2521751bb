import { AbiCoder } from 'ethers'
import type { Layout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { canonicalDecoder, type CanonicalDecoder } from './decode-canonical.ts'

/** (pure) Strict ABI decoding: data that does not encode back to exactly the same bytes is rejected. */

const coder = AbiCoder.defaultAbiCoder()

/** Keyed by the list itself, since a layout's list is created once. */
const decoders = new WeakMap<readonly string[], CanonicalDecoder>()

/** Decodes by slices of the text; returns null for data that is not canonical. ethers then gives the reason. */
export function decodeBySlices(types: readonly string[], data: string): string[] | null {
  let decoder = decoders.get(types)
  if (decoder === undefined) decoders.set(types, (decoder = canonicalDecoder(types)))
  return decoder(data)
}

/** Decodes lower-case hex. Throws when it is not the canonical encoding of such values; ethers gives the reason. */
export function decodeStrictly(types: readonly string[], data: string): string[] {
  return decodeBySlices(types, data) ?? decodeByEthers(types, data)
}

/** Decodes like {@link decodeBySlices}, by ethers' general coder, which takes far longer and throws. */
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

export type Fields = Record<string, string>

/**
 * Returns the values by name: integers as decimal text, bytes as lower-case hex, addresses checksummed. Throws when the
 * data is not the canonical encoding of the layout's types.
 */
export function decodeFields({ names, types }: Layout, data: string): Fields {
  const values = decodeStrictly(types, data)
  const fields: Fields = {}
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? ''
    fields[name] = types[index] === 'address' ? checksummed(value) : value
  }
  return fields
}
