import { createHash } from 'node:crypto'

/** What the preloaded hook is told, as JSON in KILL_ORDER. */
export type KillOrder = { leaseMs: number | null } & (
  | { do: 'nothing' }
  /** Writes the points that were passed to a file when the process ends. */
  | { do: 'record'; report: string }
  /** Writes to the file that it dies, and dies, the first time that it comes to the point. */
  | { do: 'kill'; report: string; point: string; moment: Moment }
)

/** Before: the statement was never sent. After: it was carried out, and its answer never seen. */
export type Moment = 'before' | 'after'

/** A statement or command (`what`) within something that the indexer does (`context`), and how often it was passed. */
export interface PointCount {
  id: string
  context: string
  what: string
  count: number
}

/** The same in every run, whatever else is passed. */
export function pointId(context: string, what: string): string {
  return createHash('sha256').update(`${context}\n${what}`).digest('hex').slice(0, 8)
}
