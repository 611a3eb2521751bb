import type { ChainEvent } from './chain-event.ts'
import type { ProofKind } from './proof-kind.ts'

/**
 * The content of an entry: an event came, moved or changed, or went. `origin` is the position of the entry that
 * appended what this one corrects or retracts.
 */
type Said = {
  network: string
  blockchain: string
  /** The loan or channel concerned; null if none can be read from the event. */
  subject: string | null
  /** The subject from which a replacement took the event away; null otherwise. */
  previousSubject: string | null
} & (
  | { op: 'append'; origin: null; event: ChainEvent }
  | { op: 'replace'; origin: number; event: ChainEvent }
  | { op: 'retract'; origin: number; event: null }
)

/** An entry that has no position yet, with the columns by which the log is searched. */
export type NewEntry = Said & {
  naturalKey: string
  /** Counts 1, 2, 3 … per natural key. */
  revision: number
  kind: string
  blockNumber: number
  blockHash: string
  logIndex: number
  cause: string | null
  /** How the event's block was proven; missing for a retraction and off-chain. */
  proof?: ProofKind
}

/** `step` is the position of the first entry of its transaction. */
interface LogPosition {
  position: number
  step: number
  recordedAt: Date
}

/** Everything that the log keeps of an entry. */
export type WholeEntry = NewEntry & LogPosition

/**
 * The part of an entry that a fold needs, from the log or while it is being written. Key, kind and chain place are
 * those of its event: reading them twice takes a tenth of a replay (docs/performance.md).
 */
export type LogEntry = Said & LogPosition

/** An entry that has an event. */
export type HeldEntry = Exclude<LogEntry, { op: 'retract' }>
