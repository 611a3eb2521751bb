import { useMemo, useState } from 'preact/hooks'
import { getDailyFigures, type DailyFigures } from '../../../../client/index.ts'
import { Amount } from '../../components/amount.tsx'
import { Short } from '../../components/names.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { Table, type Column } from '../../components/table.tsx'
import { clip } from '../../lib/format.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import { Chart, type Series } from './chart.tsx'
import { daysOf, stacked } from './daily.ts'

const EVERY_MS = 30_000

const MARKETS = [
  { value: '', title: 'Both markets' },
  { value: 'ERC20FIL', title: 'Tokens lent' },
  { value: 'FILERC20', title: 'FIL lent' },
]

const SERIES: readonly Series[] = [
  { label: 'cancelled', color: '--faint', shape: 'bars' },
  { label: 'seized', color: '--bad', shape: 'bars' },
  { label: 'closed', color: '--good', shape: 'bars' },
  { label: 'opened', color: '--accent' },
]

export function Daily() {
  const [market, setMarket] = useState('')
  const asked = useAnswer('daily figures', getDailyFigures, EVERY_MS)
  return (
    <section class="panel" aria-labelledby="daily">
      <div class="row">
        <h2 id="daily">Loans by day</h2>
        <select
          aria-label="Market"
          value={market}
          onChange={({ currentTarget }) => setMarket(currentTarget.value)}
        >
          {MARKETS.map(({ value, title }) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </div>
      <Answered asked={asked} what="the daily figures">
        {({ payload }) => (
          <Days rows={payload.filter(({ loanType }) => market === '' || loanType === market)} />
        )}
      </Answered>
    </section>
  )
}

function Days({ rows }: { rows: DailyFigures[] }) {
  const days = useMemo(
    () => daysOf(rows),
    [rows.map(({ day, opened, open }) => `${day} ${opened} ${open}`).join()],
  )
  const data = useMemo(() => [days.at, ...stacked(days), days.opened], [days])
  if (rows.length === 0) return <Empty title="No loan was opened or ended in the last 30 days" />
  const total = (counts: number[]): number => counts.reduce((sum, count) => sum + count, 0)
  return (
    <>
      <Chart
        label={`Loans of the last 30 days: ${total(days.opened)} opened, ${total(days.closed)} closed, ${total(days.seized)} seized, ${total(days.cancelled)} cancelled. The table below has the figures.`}
        series={SERIES}
        data={data}
        isDaily
      />
      <details>
        <summary>The figures as a table</summary>
        <Table
          caption="Loans by day, market and token"
          columns={COLUMNS}
          rows={rows.toReversed()}
          keyOf={({ day, loanType, networkId, token }) => `${day} ${loanType} ${networkId} ${token}`}
        />
      </details>
    </>
  )
}

const COLUMNS: Column<DailyFigures>[] = [
  { title: 'Day (UTC)', cell: ({ day }) => <span class="nowrap">{day}</span> },
  { title: 'Market', cell: ({ loanType }) => (loanType === 'ERC20FIL' ? 'tokens lent' : 'FIL lent') },
  {
    title: 'Token',
    cell: ({ symbol, token }) =>
      symbol === null ? <Short text={token} what="token" /> : <bdi title={token}>{clip(symbol, 12)}</bdi>,
  },
  ...(['opened', 'closed', 'seized', 'cancelled', 'open'] as const).map((field) => ({
    title: field === 'open' ? 'Open at its end' : `${field.charAt(0).toUpperCase()}${field.slice(1)}`,
    isNumber: true,
    cell: (row: DailyFigures) => row[field],
  })),
  {
    title: 'Principal',
    isNumber: true,
    cell: ({ principal, loanType, symbol }) => (
      <Amount of={principal} unit={loanType === 'FILERC20' ? 'FIL' : symbol} />
    ),
  },
]
