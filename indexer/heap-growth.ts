import { setFlagsFromString } from 'node:v8'

/**
 * V8 collects an old generation anew once it has grown by a share of what lived through the last collection: by a third, in
 * a heap as small as the indexer's. A backfill keeps 40 to 60 MiB alive and sends 6 kB an event through it, which made five
 * full collections a second. Allowed to double, it makes half as many, and its limit (`--max-old-space-size`) still holds.
 */
const DOUBLE = '--heap-growing-percent=100'
/** There the peak is 25 MiB higher with it, and beyond the 256 MiB that the indexer may take. */
const FIRST_WITHOUT = 24

/** Lets this process's heap double between two collections of all of it. Returns whether it did: not from Node 24 on. */
export function letHeapDouble(nodeVersion = process.versions.node): boolean {
  if (Number.parseInt(nodeVersion, 10) >= FIRST_WITHOUT) return false
  setFlagsFromString(DOUBLE)
  return true
}
