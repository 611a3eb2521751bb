import type { ChainEvent } from './chain-event.ts'

/** An event that came, moved or changed, or went. The log is the sequence of these. */
interface EntryBase {
  network: string
  blockchain: string
  naturalKey: string
  /** 1, 2, 3 … of this natural key. */
  revision: number
  /** The loan this is about; null for what no loan can be read from. */
  subject: string | null
  /** Where a replacement took the event away from another subject: that one. */
  previousSubject: string | null
  kind: string
  blockNumber: number
  blockHash: string
  logIndex: number
  cause: string | null
}

/** `origin`: the position of the entry that appended what this one corrects or takes back. */
export type NewEntry = EntryBase &
  (
    | { op: 'append'; origin: null; event: ChainEvent }
    | { op: 'replace'; origin: number; event: ChainEvent }
    | { op: 'retract'; origin: number; event: null }
  )

/** As it stands in the log. `step` is the position of the first entry of its transaction. */
export type LogEntry = NewEntry & { position: number; step: number; recordedAt: Date }
