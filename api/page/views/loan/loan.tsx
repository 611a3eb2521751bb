import { useEffect, useRef } from 'preact/hooks'
import { Badge } from '../../components/badge.tsx'
import { Heading } from '../../components/heading.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { useAnswer, type Asked } from '../../lib/use-answer.ts'
import { go, withQuery } from '../../router.ts'
import type { ViewProps } from '../../view.ts'
import { Actions } from './actions.tsx'
import { loanModel, type LoanAnswer, type LoanModel, type Market } from './loan-model.ts'
import { askNext, askVouchers, lookup } from './lookup.ts'
import './loan.css'
import { asOfFrom } from './moments.ts'
import { eventWords } from './event-words.ts'
import { STEP_SENTENCES } from './protocol-steps.ts'
import { Statement } from './statement.tsx'
import { StepBar } from './step-bar.tsx'
import { Timeline } from './timeline.tsx'
import { Vouchers } from './vouchers.tsx'

/** Milliseconds between questions; an unchanged answer is a 304. */
const EVERY_MS = 3000

const MARKETS: Record<Market, string> = { ERC20: 'Tokens lent against FIL', FIL: 'FIL lent against tokens' }

/** `#/loan/<market>/<loanId>?asOf=<id of a record>` */
export default function LoanView({ route: { parts, query } }: ViewProps) {
  const [market, loanId] = parts
  if ((market !== 'ERC20' && market !== 'FIL') || loanId === undefined) {
    return (
      <>
        <Heading title="Loan" />
        <Empty title="This address names no loan">
          <p>It looks like #/loan/ERC20/7 or #/loan/FIL/7.</p>
        </Empty>
      </>
    )
  }
  return (
    <Loan key={`${market} ${loanId}`} market={market} loanId={loanId} asOf={asOfFrom(query.get('asOf'))} />
  )
}

interface LoanProps {
  market: Market
  loanId: string
  asOf: number | null
}

function Loan({ market, loanId, asOf }: LoanProps) {
  const current = useAnswer(`${market} ${loanId}`, lookup(market, loanId, null), EVERY_MS)
  return (
    <div class="loan stack">
      <Heading title={`${market} loan ${loanId}`}>
        <Badge>{MARKETS[market]}</Badge>
      </Heading>
      <Answered asked={current} what="the loan">
        {(answer) => <Shown market={market} loanId={loanId} asOf={asOf} current={answer} />}
      </Answered>
    </div>
  )
}

function Shown({ market, loanId, asOf, current }: LoanProps & { current: LoanAnswer }) {
  const next = useAnswer(`next ${market} ${loanId}`, askNext(market, loanId), EVERY_MS)
  const vouchers = useAnswer(`vouchers ${market} ${loanId}`, askVouchers(market, loanId), EVERY_MS)
  const past = usePast(market, loanId, asOf)
  const now = loanModel(current)
  const loan = asOf === null || past.shown === undefined ? now : past.shown
  const known = vouchers.data?.payload ?? []
  return (
    <>
      <div
        class={asOf === null ? undefined : 'past'}
        aria-busy={asOf !== null && past.asked.data === undefined}
      >
        <p class="lead">{STEP_SENTENCES[loan.step]}</p>
        <StepBar loan={loan} />
      </div>
      <Actions next={next} loan={now} isPast={asOf !== null} />
      <Timeline now={now} asOf={asOf} vouchers={known} />
      <Statement loan={loan} isPast={asOf !== null} next={next.data} />
      <Vouchers asked={vouchers} loan={loan} isPast={asOf !== null} next={next.data} />
      {asOf !== null && <PastNote asOf={asOf} loan={now} past={past.asked} />}
    </>
  )
}

/** The loan of an earlier moment. While another moment is asked for the last one stays, so that nothing jumps. */
function usePast(
  market: Market,
  loanId: string,
  asOf: number | null,
): { shown: LoanModel | undefined; asked: Asked<LoanAnswer | null> } {
  const nothing = { data: null, response: new Response() }
  const asked = useAnswer<LoanAnswer | null>(
    `past ${market} ${loanId} ${asOf}`,
    asOf === null ? () => Promise.resolve(nothing) : lookup(market, loanId, asOf),
  )
  const last = useRef<LoanModel | undefined>(undefined)
  const answered = asked.data === undefined || asked.data === null ? undefined : loanModel(asked.data)
  useEffect(() => {
    last.current = answered ?? (asOf === null ? undefined : last.current)
  })
  return { shown: answered ?? (asked.failure === undefined ? last.current : undefined), asked }
}

function PastNote({ asOf, loan, past }: { asOf: number; loan: LoanModel; past: Asked<LoanAnswer | null> }) {
  const record = loan.events.find(({ id }) => id === asOf)
  return (
    <div class="past-note" role="status">
      {past.failure === undefined ? (
        <p>
          <strong>An earlier moment.</strong> The loan as it stood just after{' '}
          {record === undefined ? `record ${asOf}` : `“${eventWords(record.event).title}” (record ${asOf})`}.
        </p>
      ) : (
        <p>
          <strong>That moment cannot be shown.</strong> <bdi>{past.failure.message}</bdi> Below is the loan of
          now.
        </p>
      )}
      <button type="button" class="strong" onClick={backToNow}>
        Back to now
      </button>
    </div>
  )
}

export function backToNow(): void {
  go(withQuery({ asOf: undefined }), { replace: true })
}
