import { LRUCache } from 'lru-cache'

/** A longer text is not cached, so that senders of long texts cannot fill the memory. */
const LONGEST_KEPT = 512

/** Caches `make`, which must depend on its text alone; the results of the `most` recently used texts are kept. */
export function remembering<T>(most: number, make: (text: string) => T): (text: string) => T {
  const known = new LRUCache<string, { made: T }>({ max: most, memoMethod: (text) => ({ made: make(text) }) })
  return (text) => (text.length > LONGEST_KEPT ? make(text) : known.memo(text).made)
}
