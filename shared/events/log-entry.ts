import type { ChainEvent } from './chain-event.ts'

/**
 * What an entry says: an event came, moved or changed, or went. The log is the sequence of entries. `origin`: the position of
 * the entry that appended what this one corrects or takes back.
 */
type Said = {
  network: string
  blockchain: string
  /** The loan this is about; null for what no loan can be read from. */
  subject: string | null
  /** Where a replacement took the event away from another subject: that one. */
  previousSubject: string | null
} & (
  | { op: 'append'; origin: null; event: ChainEvent }
  | { op: 'replace'; origin: number; event: ChainEvent }
  | { op: 'retract'; origin: number; event: null }
)

/** An entry that has no position yet, with what the log is searched by. */
export type NewEntry = Said & {
  naturalKey: string
  /** 1, 2, 3 … of this natural key. */
  revision: number
  kind: string
  blockNumber: number
  blockHash: string
  logIndex: number
  cause: string | null
}

/** `step` is the position of the first entry of its transaction. */
interface LogPosition {
  position: number
  step: number
  recordedAt: Date
}

/** All that the log keeps of an entry. */
export type WholeEntry = NewEntry & LogPosition

/**
 * What a fold is given of an entry, read from the log or told while that is written. Its key, its kind and its place on the
 * chain are its event's: to read them twice is a tenth of a replay (docs/performance.md).
 */
export type LogEntry = Said & LogPosition

/** An entry that has an event. */
export type HeldEntry = Exclude<LogEntry, { op: 'retract' }>
