import type { Difference } from './verify-loan-state.ts'

/** One value in which the index and the chain disagree. */
export interface AuditDifference extends Difference {
  network: string
  /** The loan or payment channel. */
  subject: string
}
