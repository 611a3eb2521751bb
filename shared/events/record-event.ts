/** A change of the history, in the order of the log. */
export interface RecordEvent {
  /** The place after it, as text: {@link parseEventId}. */
  id: string
  /** Log position of the entry that brought it. */
  position: number
  event: 'record' | 'changed' | 'retracted'
  /** The record's ten fields and its network; of a retraction, as they were before. */
  record: Record<string, unknown>
}

/** The place between two changes: all of `position` and before are behind it, and `skip` of what follows. */
export interface Cursor {
  position: number
  skip: number
}

const ID = /^(\d{1,15})(?:\.(\d{1,6}))?$/

/**
 * Returns the place after the event with this id, undefined if it is none. Ids are log positions. Where an entry brings
 * several changes, all but the last have `<position>.<n>`: n of them were told.
 */
export function parseEventId(id: string): Cursor | undefined {
  const [, position, told] = ID.exec(id) ?? []
  if (position === undefined) return undefined
  return told === undefined
    ? { position: Number(position), skip: 0 }
    : { position: Number(position) - 1, skip: Number(told) }
}

export function eventId({ position, skip }: Cursor): string {
  return skip === 0 ? String(position) : `${position + 1}.${skip}`
}

/** Whether `a` is before `b`. */
export function isBefore(a: Cursor, b: Cursor): boolean {
  return a.position < b.position || (a.position === b.position && a.skip < b.skip)
}

/**
 * Gives changes their ids: all up to the log position `end`, or `most` of them and one more. Returns the place after them;
 * it is never before `after`, because a history that is behind is no way back.
 */
export function identified(
  after: Cursor,
  found: readonly Omit<RecordEvent, 'id'>[],
  { most, end }: { most: number; end: number },
): { events: RecordEvent[]; next: Cursor } {
  let at = after
  const events = found.slice(0, most).map((event, index): RecordEvent => {
    const { position } = event
    const told = (at.position === position - 1 ? at.skip : 0) + 1
    const isWhole = found[index + 1]?.position !== position
    at = isWhole ? { position, skip: 0 } : { position: position - 1, skip: told }
    return { id: eventId(at), ...event }
  })
  const last = { position: end, skip: 0 }
  return { events, next: found.length <= most && isBefore(at, last) ? last : at }
}
