import type { LoanType } from '../../../shared/events/chain-event.ts'
import type { CollateralLockPart } from '../../../shared/loans/collateral-lock.evolve.ts'
import type { Erc20LoanPart } from '../../../shared/loans/erc20-loan.evolve.ts'
import type { LoanTimes } from '../../../shared/loans/loans.evolve.ts'

/** One loan adds this to a day of its token. */
export interface DayCount {
  loanType: LoanType
  networkId: string
  token: string
  /** Days since 1970-01-01 UTC, by the clock of the event's chain. */
  day: number
  opened: number
  closed: number
  seized: number
  cancelled: number
  /** Whole units as exact text; null for a day on which it was not opened, and where the amount is not known. */
  principal: string | null
}

type End = 'closed' | 'seized' | 'cancelled'

const DAY_S = 86_400
const NOTHING = { opened: 0, closed: 0, seized: 0, cancelled: 0, principal: null }

/**
 * Returns what a loan adds to the days on which it was opened and ended: nothing while its beginning or token is unknown.
 * `seizedS` is the time at which the lender of tokens settled the collateral's channel with the seize voucher.
 */
export function daysOf(
  loanType: LoanType,
  part: Erc20LoanPart | CollateralLockPart,
  times: LoanTimes,
  seizedS: number | null,
): DayCount[] {
  const { networkId, token, principalAmount } = part
  if (times.openedS === null || token === null) return []
  const of = { loanType, networkId, token, ...NOTHING }
  const end = endOf(loanType, part.state, times.endedS, seizedS)
  const opened = { ...of, day: dayOf(times.openedS), opened: 1, principal: principalAmount }
  return end === null ? [opened] : [opened, { ...of, day: dayOf(end.atS), [end.how]: 1 }]
}

/** How a loan ended first. A contract does not notice a seizure on Filecoin. */
function endOf(
  loanType: LoanType,
  state: string,
  endedS: number | null,
  seizedS: number | null,
): { how: End; atS: number } | null {
  if (seizedS !== null && (endedS === null || seizedS <= endedS)) return { how: 'seized', atS: seizedS }
  return endedS === null ? null : { how: HOW[loanType][state] ?? 'closed', atS: endedS }
}

/** The contract's state decides; a repayment closes a loan also where the lender got nothing of it. */
const HOW: Record<LoanType, Record<string, End>> = {
  ERC20FIL: { 6: 'cancelled' },
  FILERC20: { 2: 'seized', 4: 'cancelled' },
}

function dayOf(timeS: number): number {
  return Math.floor(timeS / DAY_S)
}
