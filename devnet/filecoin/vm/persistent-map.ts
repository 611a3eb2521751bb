import { encodeUtf8 } from './utf8.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { concatBytes } from '../../../shared/filecoin/bytes.ts'

const BUCKETS = 256
const digests = new WeakMap<ReadonlyMap<string, unknown>, Uint8Array>()

/**
 * A map that is never changed: `with` and `without` give a new one that shares all but one bucket with the old.
 * So each tipset can keep the state of the world as it was, at the price of what its messages touched.
 */
export class PersistentMap<V> {
  private readonly buckets: readonly ReadonlyMap<string, V>[]

  constructor(buckets: readonly ReadonlyMap<string, V>[] = empty<V>()) {
    this.buckets = buckets
  }

  get(key: string): V | undefined {
    return this.buckets[bucketOf(key)]?.get(key)
  }

  with(key: string, value: V): PersistentMap<V> {
    return this.change(key, (bucket) => bucket.set(key, value))
  }

  without(key: string): PersistentMap<V> {
    return this.change(key, (bucket) => bucket.delete(key))
  }

  *entries(): Generator<[string, V]> {
    for (const bucket of this.buckets) yield* bucket
  }

  /** Commits to the contents, however the map came to them; `text` says all of a value. */
  digest(text: (value: V) => string): Uint8Array {
    return blake2b256(concatBytes(...this.buckets.map((bucket) => digestOf(bucket, text))))
  }

  private change(key: string, edit: (bucket: Map<string, V>) => void): PersistentMap<V> {
    const at = bucketOf(key)
    const bucket = new Map(this.buckets[at])
    edit(bucket)
    const buckets = [...this.buckets]
    buckets[at] = bucket
    return new PersistentMap(buckets)
  }
}

function empty<V>(): ReadonlyMap<string, V>[] {
  return new Array<ReadonlyMap<string, V>>(BUCKETS).fill(new Map<string, V>())
}

/** FNV-1a, folded to a byte. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff
}

/** A bucket is never changed either, so its digest is computed once. */
function digestOf<V>(bucket: ReadonlyMap<string, V>, text: (value: V) => string): Uint8Array {
  const known = digests.get(bucket)
  if (known !== undefined) return known
  const lines = [...bucket].map(([key, value]) => `${key} ${text(value)}\n`).sort()
  const digest = blake2b256(encodeUtf8(lines.join('')))
  digests.set(bucket, digest)
  return digest
}
