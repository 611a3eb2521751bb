import type { ChainStep } from '../shared/events/chain-step.ts'

/** Hears what a network's steps cost, for metrics; once a step, never once a record. Times in milliseconds. */
export interface StepMeter {
  /** A range of this many blocks was read from the chain. */
  onRead: (blocks: number, ms: number) => void
  /** A step was given to the queue this long before it was reported as written. */
  onQueued: (ms: number) => void
  /** A step was written in one transaction. */
  onWritten: (step: ChainStep, ms: number) => void
}

export const NO_METER: StepMeter = {
  onRead: () => undefined,
  onQueued: () => undefined,
  onWritten: () => undefined,
}
