import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { concatBytes } from '../../../shared/filecoin/bytes.ts'
import { encodeUtf8 } from './utf8.ts'

/** Groups of a map, and buckets of a group. */
const WIDTH = 16
type Bucket<V> = ReadonlyMap<string, V>
type Group<V> = readonly Bucket<V>[]

const digests = new WeakMap<object, Uint8Array>()

/**
 * An immutable map: `with` and `without` return a map that shares all but one bucket with the old one. Each tipset can
 * thus keep its state at the cost of what its messages changed.
 */
export class PersistentMap<V> {
  private readonly groups: readonly Group<V>[]

  constructor(groups: readonly Group<V>[] = empty<V>()) {
    this.groups = groups
  }

  get(key: string): V | undefined {
    const hash = hashOf(key)
    return this.groups[hash % WIDTH]?.[hash >>> 4]?.get(key)
  }

  with(key: string, value: V): PersistentMap<V> {
    return this.change(key, (bucket) => bucket.set(key, value))
  }

  without(key: string): PersistentMap<V> {
    return this.change(key, (bucket) => bucket.delete(key))
  }

  *entries(): Generator<[string, V]> {
    for (const bucket of this.groups.flat()) yield* bucket
  }

  /** Returns a digest of the contents, independent of the map's history; `text` must cover the whole value. */
  digest(text: (value: V) => string): Uint8Array {
    const ofBucket = (bucket: Bucket<V>): Uint8Array => remembered(bucket, () => contentsOf(bucket, text))
    const ofGroup = (group: Group<V>): Uint8Array =>
      remembered(group, () => concatBytes(...group.map(ofBucket)))
    return blake2b256(concatBytes(...this.groups.map(ofGroup)))
  }

  private change(key: string, edit: (bucket: Map<string, V>) => void): PersistentMap<V> {
    const hash = hashOf(key)
    const group = this.groups[hash % WIDTH] ?? []
    const bucket = new Map(group[hash >>> 4])
    edit(bucket)
    return new PersistentMap(this.groups.with(hash % WIDTH, group.with(hash >>> 4, bucket)))
  }
}

function empty<V>(): Group<V>[] {
  const group = new Array<Bucket<V>>(WIDTH).fill(new Map<string, V>())
  return new Array<Group<V>>(WIDTH).fill(group)
}

/** FNV-1a, folded to a byte. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff
}

/** Parts are immutable too, so the digest of each is computed once. */
function remembered(part: object, contents: () => Uint8Array): Uint8Array {
  const known = digests.get(part)
  if (known !== undefined) return known
  const digest = blake2b256(contents())
  digests.set(part, digest)
  return digest
}

function contentsOf<V>(bucket: Bucket<V>, text: (value: V) => string): Uint8Array {
  return encodeUtf8(
    [...bucket]
      .map(([key, value]) => `${key} ${text(value)}\n`)
      .sort()
      .join(''),
  )
}
