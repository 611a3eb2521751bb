import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/**
 * V8 collects an old generation anew once it has grown by a share of what lived through the last collection: by a third where
 * its limit is as small as package.json sets it (`--max-old-space-size`), by more where it is large. A backfill keeps 40 to
 * 60 MiB alive and sends 6 kB an event through it, which made five full collections a second. Allowed to double, it makes
 * half as many, and the limit still holds.
 */
const DOUBLE = '--heap-growing-percent=100'
/** From there on the peak with it was 255 to 270 MiB, and the indexer may take 256. Node 23 was not measured. */
const FIRST_WITHOUT = 24
/** Bytes; a heap that may be larger grows by more as it is. */
const SMALL_HEAP = 512 * 1024 * 1024

/** Lets this process's heap double between two collections of all of it, where it is small and its V8 stays within bounds. */
export function letHeapDouble(): void {
  if (mayDouble(process.versions.node, getHeapStatistics().heap_size_limit)) setFlagsFromString(DOUBLE)
}

/** `heapLimit` in bytes. */
export function mayDouble(nodeVersion: string, heapLimit: number): boolean {
  return Number.parseInt(nodeVersion, 10) < FIRST_WITHOUT && heapLimit < SMALL_HEAP
}
