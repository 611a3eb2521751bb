import { getLoansOfAccount, type AccountLoans } from '../../../../client/index.ts'
import { Amount } from '../../components/amount.tsx'
import { Badge } from '../../components/badge.tsx'
import { Copy } from '../../components/copy.tsx'
import { Heading } from '../../components/heading.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { Table, type Column } from '../../components/table.tsx'
import { useSymbols } from '../../lib/assets.ts'
import { now } from '../../lib/clock.ts'
import { exactTime, shorten } from '../../lib/format.ts'
import { accountHash, hashOf, loanHash } from '../../lib/route.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import type { ViewProps } from '../../view.ts'
import { whenText } from '../loan/next-actions.ts'
import { isEnded, STEP_SENTENCES } from '../loan/protocol-steps.ts'
import { accountLoans, loansOf, type AccountLoan } from './account-model.ts'
import './account.css'
import { useNexts } from './use-nexts.ts'

const EVERY_MS = 5000
/** Loans of a page: the page also asks what can be done in each. */
const LIMIT = '60'

/** `#/account/<an EVM or Filecoin address>?before=<where the page begins>` */
export default function AccountView({ route: { parts, query } }: ViewProps) {
  const [account] = parts
  if (account === undefined) {
    return (
      <>
        <Heading title="Account" />
        <Empty title="This address names no account">
          <p>Search for an EVM or Filecoin address above.</p>
        </Empty>
      </>
    )
  }
  return <Account key={account} account={account} before={query.get('before')} />
}

function Account({ account, before }: { account: string; before: string | null }) {
  const asked = useAnswer(
    `account ${account} ${before}`,
    (options) =>
      getLoansOfAccount({
        ...options,
        path: { account },
        query: { limit: LIMIT, ...(before === null ? {} : { before }) },
      }),
    EVERY_MS,
  )
  return (
    <div class="account stack">
      <Heading title={`Account ${shorten(account)}`}>
        <p class="row small">
          <code class="whole">{account}</code> <Copy text={account} what="address" />
          <a href={hashOf([], { account })}>Its activity</a>
        </p>
      </Heading>
      <Answered asked={asked} what="its loans">
        {({ payload, next }) => (
          <>
            <Loans account={account} payload={payload} />
            <p class="row">
              {before !== null && <a href={accountHash(account)}>Newest loans</a>}
              {next !== null && <a href={hashOf(['account', account], { before: `${next}` })}>Older loans</a>}
            </p>
          </>
        )}
      </Answered>
    </div>
  )
}

function Loans({ account, payload }: { account: string; payload: AccountLoans['payload'] }) {
  const loans = loansOf(payload)
  const nexts = useNexts(loans)
  const rows = accountLoans(loans, account, nexts, now.value)
  const columns = useColumns()
  const isOver = ({ loan, action }: AccountLoan): boolean => isEnded(loan.step) && !action
  const open = rows.filter((row) => !isOver(row))
  const over = rows.filter(isOver)
  const due = rows.filter(({ action }) => action?.isPlanned === true && action.isOpen).length
  if (rows.length === 0) {
    return (
      <Empty title="This account has no loans">
        <p>It neither borrows nor lends in any loan that this service knows.</p>
      </Empty>
    )
  }
  return (
    <>
      <p class="lead">
        {rows.length === 1 ? 'One loan' : `${rows.length} loans`}
        {due > 0 && `, ${due} with something to do now`}
      </p>
      {open.length > 0 && (
        <Table
          caption="Loans of the account, the most urgent first"
          columns={columns}
          rows={open}
          keyOf={({ key }) => key}
        />
      )}
      {over.length > 0 && (
        <details open={open.length === 0}>
          <summary>
            {over.length === 1 ? 'One loan that has ended' : `${over.length} loans that have ended`}
          </summary>
          <Table caption="Loans that have ended" columns={columns} rows={over} keyOf={({ key }) => key} />
        </details>
      )}
    </>
  )
}

function useColumns(): Column<AccountLoan>[] {
  const symbolOf = useSymbols()
  return [
    {
      title: 'Loan',
      cell: ({ loan: { market, id } }) => (
        <a href={loanHash(market, id)}>
          {market} loan {shorten(id)}
        </a>
      ),
    },
    { title: 'Role', cell: ({ role }) => role ?? 'a party' },
    {
      title: 'Principal',
      isNumber: true,
      cell: ({ loan: { market, amounts, token } }) => (
        <Amount of={amounts[0]?.value} unit={market === 'FIL' ? 'FIL' : symbolOf(token)} />
      ),
    },
    {
      title: 'Where it stands',
      cell: ({ loan: { step } }) =>
        isEnded(step) ? <Badge>{step}</Badge> : <span class="small">{STEP_SENTENCES[step]}</span>,
    },
    { title: 'What it can do', cell: (row) => <Todo row={row} /> },
  ]
}

function Todo({ row: { action, role, waitsForOther } }: { row: AccountLoan }) {
  if (action === undefined) return <span class="faint">…</span>
  if (action === null) return <span class="faint">nothing</span>
  const { isOpen, isPlanned, limit, title, actor } = action
  return (
    <span class={isPlanned && isOpen ? 'todo due' : 'todo'}>
      <span class="todo-title">
        {role === null && `${actor}: `}
        {title}
      </span>
      <span class="small" title={limit === null ? undefined : exactTime(limit)}>
        {whenText(action)}
      </span>
      {waitsForOther && <span class="small faint">the other party is to act</span>}
    </span>
  )
}
