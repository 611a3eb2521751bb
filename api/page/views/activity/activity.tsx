import { useEffect, useState } from 'preact/hooks'
import { searchActivity, type ActivityRecord } from '../../../../client/index.ts'
import { announce } from '../../components/announcer.tsx'
import { Heading } from '../../components/heading.tsx'
import { Answered, Empty } from '../../components/states.tsx'
import { formatCount } from '../../lib/format.ts'
import { status } from '../../lib/status.ts'
import { useAnswer } from '../../lib/use-answer.ts'
import { withQuery } from '../../router.ts'
import type { ViewProps } from '../../view.ts'
import { Filters, filtersOf } from './filters.tsx'
import { MOST_PENDING, useLive, type ActivityQuery } from './live.ts'
import { changed, neighbours, newestOf } from './pages.ts'
import { Records } from './records.tsx'

/** Rows that stay on the live page; older ones are a page away. */
const MOST_SHOWN = 100

export default function ActivityView({ route: { query } }: ViewProps) {
  const before = query.get('before') ?? undefined
  const after = query.get('after') ?? undefined
  // The address holds texts, and the API says which of them it does not know.
  const filters = Object.fromEntries(
    Object.entries(filtersOf(query)).map(([name, value]) => [
      name,
      name === 'from' || name === 'to' ? value : [value],
    ]),
  ) as ActivityQuery
  const key = query.toString()
  const asked = useAnswer(key, (options) =>
    searchActivity({
      ...options,
      query: {
        ...filters,
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
      },
    }),
  )
  const isLive = before === undefined && after === undefined
  return (
    <div class="stack">
      <Heading title="Activity">
        {status.value !== undefined && <span class="faint">{formatCount(status.value.records)} records</span>}
      </Heading>
      <Filters query={query} />
      <Answered asked={asked} what="the records">
        {({ payload, next }) => (
          <Page
            key={key}
            records={after === undefined ? payload : payload.toReversed()}
            filters={filters}
            isLive={isLive}
            isFromBelow={after !== undefined}
            next={next}
            again={asked.retry}
          />
        )}
      </Answered>
    </div>
  )
}

interface PageProps {
  records: ActivityRecord[]
  filters: ActivityQuery
  isLive: boolean
  /** Read upwards from an older page: what follows is newer. */
  isFromBelow: boolean
  next: number | null
  /** Asks for the page again. */
  again: () => void
}

function Page({ filters, again, ...page }: PageProps) {
  const { records, isLive, isFromBelow, next } = page
  const [shown, setShown] = useState(records)
  useEffect(() => setShown(records), [records])
  const newest = isLive ? newestOf(page, shown) : null
  const { pending, changes } = useLive(newest, filters, again)
  const show = (): void => {
    announce(`${pending.value.length} new records are shown`)
    setShown(changed([...pending.value, ...shown], changes.value).slice(0, MOST_SHOWN))
  }
  const { older, newer } = neighbours(page, shown)
  return (
    <>
      <div class="newer">
        {pending.value.length > 0 && (
          <button type="button" class="strong" onClick={show}>
            {formatCount(pending.value.length)}
            {pending.value.length >= MOST_PENDING ? '+' : ''} new
          </button>
        )}
      </div>
      {shown.length === 0 ? (
        <Empty title="No records">
          <p>
            {next !== null
              ? `Nothing on this page fits; look further ${isFromBelow ? 'on' : 'back'}.`
              : Object.keys(filters).length > 0
                ? 'Nothing in the history fits these filters.'
                : isLive
                  ? 'Nothing has been indexed yet. New records appear here by themselves.'
                  : 'The history has no records beyond this place.'}
          </p>
        </Empty>
      ) : (
        <Records records={shown} changes={changes.value} />
      )}
      <nav class="row pages" aria-label="Pages">
        {!isLive && <a href={withQuery({ before: undefined, after: undefined })}>Newest</a>}
        {newer !== undefined && <a href={withQuery({ before: undefined, after: `${newer}` })}>Newer</a>}
        {older !== undefined && <a href={withQuery({ before: `${older}`, after: undefined })}>Older</a>}
      </nav>
    </>
  )
}
