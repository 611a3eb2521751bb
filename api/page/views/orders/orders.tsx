import {
  getBorrowOrders,
  getLendOrders,
  type CollateralLock,
  type Erc20Loan,
} from '../../../../client/index.ts'
import { Amount } from '../../components/amount.tsx'
import { Badge } from '../../components/badge.tsx'
import { Heading } from '../../components/heading.tsx'
import { Address, LoanLink, Unknown } from '../../components/names.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { Table, type Column } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useSymbols } from '../../lib/assets.ts'
import { clip, formatDuration } from '../../lib/format.ts'
import { ratePercent } from '../../lib/rates.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import { withQuery } from '../../router.ts'
import type { ViewProps } from '../../view.ts'
import { stateWords } from '../loan/state-words.ts'

const EVERY_MS = 5000
const LIMIT = '25'

export default function OrdersView({ route: { query } }: ViewProps) {
  const isLend = query.get('side') !== 'borrow'
  const state = query.get('state') === 'closed' ? 'closed' : 'available'
  const tab = (isOn: boolean, title: string, changes: Record<string, string | undefined>) => (
    <a href={withQuery({ before: undefined, ...changes })} aria-current={isOn ? 'true' : undefined}>
      {title}
    </a>
  )
  return (
    <div class="stack">
      <Heading title="Orders" />
      <div class="row tabs">
        <nav class="tab-list" aria-label="Side">
          {tab(isLend, 'Offers of tokens', { side: undefined })}
          {tab(!isLend, 'Requests for FIL', { side: 'borrow' })}
        </nav>
        <nav class="tab-list" aria-label="State">
          {tab(state === 'available', 'Open', { state: undefined })}
          {tab(state === 'closed', 'Taken or closed', { state: 'closed' })}
        </nav>
      </div>
      <p class="faint">
        {isLend
          ? 'Lenders offer tokens of an EVM chain; a borrower secures them with FIL in a payment channel.'
          : 'Borrowers lock tokens on an EVM chain and ask for FIL, which a lender pays through a payment channel.'}
      </p>
      {isLend ? (
        <Offers key={state} state={state} before={query.get('before')} />
      ) : (
        <Requests key={state} state={state} before={query.get('before')} />
      )}
    </div>
  )
}

interface ListProps {
  state: 'available' | 'closed'
  before: string | null
}

function pageOf(before: string | null): { limit: string; before?: string } {
  return before === null ? { limit: LIMIT } : { limit: LIMIT, before }
}

function Offers({ state, before }: ListProps) {
  const symbolOf = useSymbols()
  const asked = useAnswer(
    `lend ${state} ${before ?? ''}`,
    (options) => getLendOrders({ ...options, path: { state }, query: pageOf(before) }),
    EVERY_MS,
  )
  const columns: Column<Erc20Loan>[] = [
    { title: 'Loan', cell: ({ id }) => <LoanLink loanType="ERC20FIL" loanId={id} /> },
    {
      title: 'Lender',
      cell: ({ lender, networkId }) => <Address of={lender} networkId={networkId ?? undefined} />,
    },
    {
      title: 'Lends',
      isNumber: true,
      cell: ({ principalAmount, token }) => <Amount of={principalAmount} unit={symbolOf(token)} />,
    },
    {
      title: 'Interest',
      isNumber: true,
      cell: ({ interestAmount, token }) => <Amount of={interestAmount} unit={symbolOf(token)} />,
    },
    {
      title: 'For',
      isNumber: true,
      cell: ({ loanExpirationPeriod }) => <Period seconds={loanExpirationPeriod} />,
    },
    { title: 'State', cell: ({ state }) => <State part="erc20Loan" state={state} /> },
    { title: 'Indexed', isNumber: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
  return (
    <Answered asked={asked} what="the offers">
      {({ payload, next }) => (
        <List
          caption="Offers to lend tokens, newest first"
          noun="offers"
          columns={columns}
          rows={payload}
          next={next}
          state={state}
          before={before}
        />
      )}
    </Answered>
  )
}

function Requests({ state, before }: ListProps) {
  const symbolOf = useSymbols()
  const asked = useAnswer(
    `borrow ${state} ${before ?? ''}`,
    (options) => getBorrowOrders({ ...options, path: { state }, query: pageOf(before) }),
    EVERY_MS,
  )
  const columns: Column<CollateralLock>[] = [
    { title: 'Loan', cell: ({ id }) => <LoanLink loanType="FILERC20" loanId={id} /> },
    {
      title: 'Borrower',
      cell: ({ borrower, networkId }) => <Address of={borrower} networkId={networkId ?? undefined} />,
    },
    {
      title: 'Wants',
      isNumber: true,
      cell: ({ principalAmount }) => <Amount of={principalAmount} unit="FIL" />,
    },
    {
      title: 'Collateral',
      isNumber: true,
      cell: ({ collateralAmount, token }) => <Amount of={collateralAmount} unit={symbolOf(token)} />,
    },
    { title: 'A year', isNumber: true, cell: ({ interestRate }) => <Rate of={interestRate} /> },
    {
      title: 'For',
      isNumber: true,
      cell: ({ loanExpirationPeriod }) => <Period seconds={loanExpirationPeriod} />,
    },
    { title: 'State', cell: ({ state }) => <State part="collateralLock" state={state} /> },
    { title: 'Indexed', isNumber: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
  return (
    <Answered asked={asked} what="the requests">
      {({ payload, next }) => (
        <List
          caption="Requests to borrow FIL, newest first"
          noun="requests"
          columns={columns}
          rows={payload}
          next={next}
          state={state}
          before={before}
        />
      )}
    </Answered>
  )
}

function List<T extends { id: string }>({
  caption,
  noun,
  columns,
  rows,
  next,
  state,
  before,
}: ListProps & {
  caption: string
  noun: string
  columns: Column<T>[]
  rows: T[]
  next: string | number | null
}) {
  return (
    <>
      {rows.length === 0 ? (
        <Empty title={state === 'available' ? `No open ${noun}` : `No ${noun} here`}>
          <p>
            {state === 'available'
              ? 'New ones appear here by themselves.'
              : 'Older ones may be on another page.'}
          </p>
        </Empty>
      ) : (
        <Table caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />
      )}
      <nav class="row pages" aria-label="Pages">
        {before !== null && <a href={withQuery({ before: undefined })}>Newest</a>}
        {next !== null && <a href={withQuery({ before: String(next) })}>Older</a>}
      </nav>
    </>
  )
}

function State({ part, state }: { part: string; state: string | null }) {
  if (state === null) return <Unknown />
  return <Badge tone={state === '0' ? 'good' : 'plain'}>{clip(stateWords(part, state))}</Badge>
}

function Period({ seconds }: { seconds: string | null }) {
  const length = Number(seconds)
  if (seconds === null || !Number.isFinite(length)) return <Unknown />
  return <span class="nowrap">{formatDuration(length)}</span>
}

function Rate({ of }: { of: string | null }) {
  return of === null ? <Unknown /> : <span title={of}>{ratePercent(of)} %</span>
}
