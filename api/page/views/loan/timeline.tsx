import { useEffect, useRef } from 'preact/hooks'
import type { ActivityRecord, LoanVoucher } from '../../../../client/index.ts'
import { Time } from '../../components/time.tsx'
import { hashOf } from '../../lib/route.ts'
import { go, withQuery } from '../../router.ts'
import type { LoanModel } from './loan-model.ts'
import { momentAt, positionOf } from './moments.ts'
import { MomentSlider } from './moment-slider.tsx'
import { RecordDetail } from './record-detail.tsx'
import { TimelineLinks } from './timeline-links.tsx'
import { columnsOf, firstColumn, linksOf, MOST_COLUMNS, type Column } from './timeline-model.ts'

interface TimelineProps {
  /** The loan of now, whose records are the columns also while an earlier moment is shown. */
  now: LoanModel
  asOf: number | null
  vouchers: readonly LoanVoucher[]
}

/** Both chains on one line: EVM above, Filecoin below, in the order in which this service learned of the records. */
export function Timeline({ now, asOf, vouchers }: TimelineProps) {
  const ids = now.events.map(({ id }) => id)
  const selected = positionOf(ids, asOf)
  const first = firstColumn(ids.length, selected)
  const columns = columnsOf(now.events.slice(first, first + MOST_COLUMNS))
  const links = linksOf(now, columns, vouchers)
  const position = selected - first
  const scroller = useRef<HTMLDivElement>(null)
  useScrollToNewest(scroller, columns.length)
  const show = (at: number): void => {
    const id = momentAt(ids, first + at)
    go(withQuery({ asOf: id === null ? undefined : String(id) }), { replace: true })
  }
  return (
    <section aria-labelledby="timeline">
      <div class="heading">
        <h2 id="timeline">What happened, on both chains</h2>
        <p class="row small legend">
          <span class="key evm">EVM</span>
          <span class="key fil">Filecoin</span>
          <span class="key off">signed off-chain</span>
        </p>
      </div>
      <p class="small faint">
        In the order in which this service learned of it. Choose a record to see the loan as it stood then.
      </p>
      <div class="panel timeline-panel">
        <div class="timeline-scroll" ref={scroller} role="group" aria-label="Timeline" tabIndex={0}>
          <div class="timeline" style={{ '--columns': String(columns.length + 1) }}>
            <ol class="lanes">
              {columns.map((column, index) => (
                <Card
                  key={column.record.id}
                  column={column}
                  index={index}
                  position={position}
                  onShow={show}
                />
              ))}
            </ol>
            <TimelineLinks columns={columns} links={links} position={position} />
            <MomentSlider columns={columns} position={position} onShow={show} />
          </div>
        </div>
        <Reasons links={links} />
        <RecordDetail record={now.events[selected]} />
      </div>
      <Omitted loan={now} shown={columns.length} />
    </section>
  )
}

/** Shows the newest record at first; later ones arrive without moving what the reader looks at. */
function useScrollToNewest(scroller: { current: HTMLDivElement | null }, count: number): void {
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollLeft = scroller.current.scrollWidth
  }, [count === 0])
}

interface CardProps {
  column: Column
  index: number
  position: number
  onShow: (at: number) => void
}

function Card({ column: { record, lane, isOffChain, words }, index, position, onShow }: CardProps) {
  const tense = index > position ? ' later' : ''
  return (
    <li class={`card ${lane}${isOffChain ? ' off' : ''}${tense}`} style={{ '--at': String(index + 1) }}>
      <button
        type="button"
        aria-pressed={index === position}

        onClick={() => onShow(index)}
      >
        <span class="unseen">{lane === 'evm' ? 'EVM:' : isOffChain ? 'Off-chain:' : 'Filecoin:'}</span>
        <span class="card-title">
          <bdi>{words.title}</bdi>
        </span>
        <span class="card-time">
          {words.by !== null && `${words.by}, `}
          <Time at={record.createdAt} />
        </span>
      </button>
    </li>
  )
}

function Reasons({ links }: { links: ReturnType<typeof linksOf> }) {
  if (links.length === 0) return <p class="small faint">Nothing links the two chains yet.</p>
  return (
    <ol class="reasons" aria-label="Why the two chains are linked">
      {links.map(({ why, isProvisional, kind }, index) => (
        <li key={index}>
          <span class={`marker ${kind}`}>{index + 1}</span>
          <span>
            {why}
            {isProvisional && <strong> Provisional.</strong>}
          </span>
        </li>
      ))}
    </ol>
  )
}

function Omitted({ loan: { events, eventsTotal, id, market }, shown }: { loan: LoanModel; shown: number }) {
  if (shown >= eventsTotal) return null
  const loanType: ActivityRecord['loanType'] = market === 'ERC20' ? 'ERC20FIL' : 'FILERC20'
  return (
    <p class="small faint">
      {shown} of {Math.max(eventsTotal, events.length)} records are shown.{' '}
      <a href={hashOf([], { loanId: id, loanType })}>All of them</a>
    </p>
  )
}
