import { createHash } from 'node:crypto'

/** The order to the preloaded hook, as JSON in KILL_ORDER. */
export type KillOrder = { leaseMs: number | null } & (
  | { do: 'nothing' }
  /** Writes the passed points to a file when the process ends. */
  | { do: 'record'; report: string }
  /** Notes the kill in the file and kills the process when it first reaches the point. */
  | { do: 'kill'; report: string; point: string; moment: Moment }
)

/** `before`: the statement was never sent. `after`: it was executed, but its response was never seen. */
export type Moment = 'before' | 'after'

/** A statement or command (`what`) within an activity of the indexer (`context`), and how often it was passed. */
export interface PointCount {
  id: string
  context: string
  what: string
  count: number
}

/** The same in every run, independent of the other points passed. */
export function pointId(context: string, what: string): string {
  return createHash('sha256').update(`${context}\n${what}`).digest('hex').slice(0, 8)
}
