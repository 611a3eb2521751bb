import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { formatUnits } from '../../shared/amounts.ts'
import { groupBy } from '../../shared/group-by.ts'
import type { EvmLoanEvent } from '../../shared/events/chain-event.ts'

/** The daily figures, as one line for each row. */
export async function storedDays(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', loan_type, token, day, 'opened', opened, 'closed', closed, 'seized', seized, 'cancelled', cancelled,
      'principal', principal, 'open', open) as line
    from projection.daily order by loan_type, token, day`.execute(db)
  return rows.map(({ line }) => line)
}

type End = 'closed' | 'seized' | 'cancelled'

interface Day {
  opened: number
  closed: number
  seized: number
  cancelled: number
  /** In units of 10^-18, more exact than the stories' tokens. */
  principal: bigint
}

const DECIMALS = 18
const ENDS = [
  ...['CancelLoan', 'AcceptRepayment', 'RefundPayback'],
  ...['UnlockCollateral', 'SeizeCollateral', 'CancelBorrowRequest'],
]

/** The same lines, counted loan by loan from the events that hold in the log, and from the seized channels. */
export async function recountedDays(db: Db): Promise<string[]> {
  const { rows } = await sql<{ event: EvmLoanEvent }>`
    select body as event from (
      select distinct on (network, natural_key) * from ledger.event_log order by network, natural_key, position desc
    ) as last
    where op <> 'retract' and subject like any(array['ERC20FIL/%', 'FILERC20/%'])
    order by block_number, log_index`.execute(db)
  const seized = await sql<{ loanId: string; timeS: number }>`
    select loan_id as "loanId", (state->'settlement'->>'timeS')::bigint as "timeS" from projection.channels
    where shown and role = 'collateral' and part->>'state' in ('7', '8')`.execute(db)
  const seizedAt = new Map(seized.rows.map(({ loanId, timeS }) => [loanId, timeS]))
  const loans = groupBy(rows, ({ event }) => `${event.role} ${event.loanId}`)
  const keys = new Map<string, Map<number, Day>>()
  for (const events of loans.values()) {
    const made = events.map(({ event }) => event).find(({ kind }) => kind.startsWith('Create'))
    if (made?.kind !== 'CreateLoanOffer' && made?.kind !== 'CreateBorrowRequest') continue
    const isErc20 = made.kind === 'CreateLoanOffer'
    const key = `${isErc20 ? 'ERC20FIL' : 'FILERC20'} ${made.args.token}`
    const days = keys.get(key) ?? new Map<number, Day>()
    keys.set(key, days)
    const dayAt = (timeS: number): Day => {
      const number = Math.floor(timeS / 86_400)
      const day = days.get(number) ?? { opened: 0, closed: 0, seized: 0, cancelled: 0, principal: 0n }
      days.set(number, day)
      return day
    }
    const opened = dayAt(made.blockTimeS)
    opened.opened += 1
    const [amount, decimals] = isErc20
      ? [made.args.principal, made.tokenDecimals ?? 0]
      : [made.terms.values.principalAmount ?? '0', DECIMALS]
    opened.principal += BigInt(amount) * 10n ** BigInt(DECIMALS - decimals)
    const end = endOf(
      events.map(({ event }) => event),
      isErc20 ? seizedAt.get(made.loanId) : undefined,
    )
    if (end !== null) dayAt(end.timeS)[end.how] += 1
  }
  return [...keys].flatMap(([key, days]) => linesOf(key, days)).sort(byKeyAndDay)
}

function endOf(events: EvmLoanEvent[], seizedS: number | undefined): { how: End; timeS: number } | null {
  const ended = events.find(({ kind }) => ENDS.includes(kind))
  if (seizedS !== undefined && (ended === undefined || seizedS <= ended.blockTimeS))
    return { how: 'seized', timeS: seizedS }
  if (ended === undefined) return null
  const last = events.findLast(({ kind }) => kind !== 'UnlockRefundableCollateral')?.kind
  const how =
    last === 'CancelLoan' || last === 'CancelBorrowRequest'
      ? 'cancelled'
      : last === 'SeizeCollateral'
        ? 'seized'
        : 'closed'
  return { how, timeS: ended.blockTimeS }
}

function linesOf(key: string, days: Map<number, Day>): string[] {
  let open = 0
  return [...days]
    .sort(([a], [b]) => a - b)
    .map(([number, { opened, closed, seized, cancelled, principal }]) => {
      open += opened - closed - seized - cancelled
      const counts = `opened ${opened} closed ${closed} seized ${seized} cancelled ${cancelled}`
      return `${key} ${number} ${counts} principal ${formatUnits(principal, DECIMALS)} open ${open}`
    })
}

function byKeyAndDay(a: string, b: string): number {
  return a < b ? -1 : 1
}
