import { LRUCache } from 'lru-cache'

/** A longer text is made anew each time: whoever sends long ones shall not have them kept. */
const LONGEST_KEPT = 512

/** `make` of a text, which must depend on nothing else; the results of the `most` texts asked for last are kept. */
export function remembering<T>(most: number, make: (text: string) => T): (text: string) => T {
  const known = new LRUCache<string, { made: T }>({ max: most, memoMethod: (text) => ({ made: make(text) }) })
  return (text) => (text.length > LONGEST_KEPT ? make(text) : known.memo(text).made)
}
