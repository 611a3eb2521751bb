import { AbiCoder } from 'ethers'
import type { Layout } from './contracts.ts'

/** (pure) Strict ABI decoding: what does not encode back to exactly the same bytes does not decode. */

const coder = AbiCoder.defaultAbiCoder()

/** Values by name, with readers that refuse a value of another type than the one that is asked for. */
export class Fields {
  readonly #values: ReadonlyMap<string, unknown>

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values
  }

  /** A uint256 as decimal text. */
  uint(name: string): string {
    return uintText(this.#values.get(name))
  }

  /** Checksummed. */
  address(name: string): string {
    return text(this.#values.get(name))
  }

  /** Lower-case hex. */
  hex(name: string): string {
    return text(this.#values.get(name))
  }
}

export function uintText(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  throw new TypeError('not an integer')
}

export function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw new TypeError('not bytes')
}

/** Throws when the data is not the canonical encoding of such values. `data` is lower-case hex. */
export function decodeStrictly(types: readonly string[], data: string): unknown[] {
  const decoded = coder.decode(types, data)
  const values: unknown[] = decoded.toArray(true)
  if (coder.encode(types, values) !== data) throw new Error('not the canonical encoding')
  return values
}

export function decodeFields(layout: Layout, data: string): Fields {
  const values = decodeStrictly(layout.types, data)
  return new Fields(new Map(layout.names.map((name, index) => [name, values[index]])))
}
