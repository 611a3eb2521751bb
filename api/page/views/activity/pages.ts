/** (pure) Which pages lie beside the shown one, and how changes of the history reach what is shown. */
import type { ActivityRecord } from '../../../../client/generated/types.gen.ts'

interface Page {
  /** As the API gave them, newest first. */
  records: readonly ActivityRecord[]
  /** The API's own word for whether another page follows: a page can be empty before the last one. */
  next: number | null
  isLive: boolean
  /** Read upwards from an older page: what follows is newer. */
  isFromBelow: boolean
}

/** The `before` of the older page and the `after` of the newer one; undefined where there is none. */
export function neighbours(
  { records, next, isLive, isFromBelow }: Page,
  shown: readonly ActivityRecord[],
): { older: number | undefined; newer: number | undefined } {
  const last = shown.at(-1)?.id
  const following = next ?? undefined
  // New records can have pushed the last ones of the page out of sight.
  const older = isFromBelow || last !== records.at(-1)?.id ? last : following
  const newer = isFromBelow ? following : shown[0]?.id
  return { older, newer: isLive ? undefined : newer }
}

/** The id after which records are new. The API takes none below 1. */
export function newestOf({ next }: Pick<Page, 'next'>, shown: readonly ActivityRecord[]): number {
  return shown[0]?.id ?? next ?? 1
}

/** Records as they are now, by id; null for one that a reorg took away. */
export type Changes = ReadonlyMap<number, ActivityRecord | null>

/** The records as they are after the changes. */
export function changed(records: readonly ActivityRecord[], changes: Changes): ActivityRecord[] {
  return records.flatMap((record) => {
    const now = changes.get(record.id)
    return now === null ? [] : (now ?? record)
  })
}
