import type { ChainEvent } from './chain-event.ts'

/** Of an event that came, moved or changed, or went. The log is the sequence of these. */
type Told = {
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

/** `origin`: the position of the entry that appended what this one corrects or takes back. */
export type NewEntry = Told & {
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
 * What is read of an entry. Its key, its kind and its place on the chain are its event's: to read them twice is a tenth of a
 * replay (docs/performance.md).
 */
export type LogEntry = Told & LogPosition

/** Told, and not read: its key is known where its event is gone. */
export type KeyedEntry = LogEntry & Pick<NewEntry, 'naturalKey'>

/** An entry whose event holds. */
export type HeldEntry = Exclude<LogEntry, { op: 'retract' }>
