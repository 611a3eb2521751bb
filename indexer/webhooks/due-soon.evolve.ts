import { actionsOf, type LoanAction } from '../../shared/loan-life/actions.ts'
import type { LoanLife } from '../../shared/loan-life/life.ts'

const HOUR_MS = 3_600_000

export interface DueAction {
  action: LoanAction
  /** Unix milliseconds of the last moment at which it can be taken. */
  deadlineMs: number
}

/**
 * The actions of a loan whose last moment comes within some hours. "Now" is the later of `nowMs` and the last indexed
 * block: a chain's clock can be ahead of ours, and an index that is behind must not tell of deadlines long past.
 */
export function dueActions(life: LoanLife, nowMs: number, hours: number): DueAction[] {
  return actionsOf(life).flatMap((action) => {
    if (action.notAfter === null) return []
    const deadlineMs = Date.parse(action.notAfter.time)
    const leftMs = deadlineMs - Math.max(nowMs, action.basis === null ? 0 : Date.parse(action.basis.time))
    return leftMs >= 0 && leftMs <= hours * HOUR_MS ? [{ action, deadlineMs }] : []
  })
}
