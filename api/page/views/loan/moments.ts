/** (pure) The positions of the slider: one for each record, oldest first, and a last one for now. */

/**
 * Returns the position that a record's id stands for: its own, or that of the last record before it. `null` is now.
 */
export function positionOf(ids: readonly number[], asOf: number | null): number {
  if (asOf === null) return ids.length
  const index = ids.findLastIndex((id) => id <= asOf)
  return Math.max(0, index)
}

/** The reverse: the id for the address; `null` for now. */
export function momentAt(ids: readonly number[], position: number): number | null {
  return ids[Math.max(0, Math.floor(position))] ?? null
}

/** Reads the address. Anything but the id of a record is now. */
export function asOfFrom(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
    ? Number(text)
    : null
}
