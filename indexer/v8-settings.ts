import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/**
 * V8 collects an old generation anew once it has grown by a share of what lived through the last collection: by a third where
 * its limit is as small as package.json sets it (`--max-old-space-size`), by more where it is large. A backfill keeps 40 to
 * 60 MiB alive and sends 6 kB an event through it, which made five full collections a second. Allowed to double, it makes
 * half as many, and the limit still holds.
 */
const DOUBLE = '--heap-growing-percent=100'
/** From there on the peak with it was 255 to 270 MiB, and the indexer may take 256. Node 23 was not measured. */
const FIRST_WITHOUT_DOUBLING = 24
/** Bytes; a heap that may be larger grows by more as it is. */
const SMALL_HEAP = 512 * 1024 * 1024

/**
 * How many bytes of its code a function runs before V8 optimizes it: some twenty times V8's own setting. To compile six
 * hundred functions, many of them again and again, took a fifth of the indexer's processor time in its first seconds, just
 * when a reorg or the rest of a short backfill waited for it.
 */
const LATE = '--interrupt-budget=1500000'
/** It has a compiler in between, and counts calls instead. */
const FIRST_WITH_ANOTHER_COMPILER = 22

/** Sets V8 to what the indexer does, where the V8 of this process gains by it. For the beginning of a program. */
export function settleV8(): void {
  if (mayDouble(process.versions.node, getHeapStatistics().heap_size_limit)) setFlagsFromString(DOUBLE)
  if (isBetterLate(process.versions.node)) setFlagsFromString(LATE)
}

/** Whether the heap may double between two collections of all of it: V8 stays within bounds. `heapLimit` in bytes. */
export function mayDouble(nodeVersion: string, heapLimit: number): boolean {
  return majorOf(nodeVersion) < FIRST_WITHOUT_DOUBLING && heapLimit < SMALL_HEAP
}

/** Whether functions are better optimized late. */
export function isBetterLate(nodeVersion: string): boolean {
  return majorOf(nodeVersion) < FIRST_WITH_ANOTHER_COMPILER
}

function majorOf(version: string): number {
  return Number.parseInt(version, 10)
}
