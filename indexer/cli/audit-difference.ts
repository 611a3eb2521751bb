import type { Difference } from './verify-loan-state.ts'

/** Something of which the index says otherwise than the chain. */
export interface AuditDifference extends Difference {
  network: string
  /** A loan or a payment channel. */
  subject: string
}
