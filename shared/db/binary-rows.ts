import { fieldsOf, RowBytes, type Columns, type RowOf } from './row-bytes.ts'

/** Bytes of rows that travel together. */
const PART_BYTES = 32 * 1024
/** What it takes to begin with: most copies are a few rows. */
const FIRST_BYTES = 4 * 1024

/**
 * The bytes of a copy in parts, each of which is good until the next one is asked for; a row is made when those before it were.
 * Throws for a value that its column cannot have, as {@link RowBytes}.
 */
export function* binaryRows<T, C extends Columns>(
  columns: C,
  items: readonly T[],
  rowOf: (item: T, index: number) => RowOf<C>,
): Generator<Uint8Array> {
  const fields = fieldsOf(columns)
  const bytes = new RowBytes(FIRST_BYTES)
  bytes.signature()
  let index = 0
  for (const item of items) {
    const row = rowOf(item, index)
    index += 1
    bytes.row(fields, row)
    if (bytes.length >= PART_BYTES) yield bytes.take()
  }
  bytes.end()
  yield bytes.take()
}
