import { useSignal } from '@preact/signals'
import { EVENT_GROUPS } from '../../lib/events.ts'
import { eventWords } from '../../lib/format.ts'
import { status } from '../../lib/status.ts'
import { go, withQuery } from '../../router.ts'

/** A change of a filter begins at the newest record. */
const FROM_THE_NEWEST = { before: undefined, after: undefined }

const NAMES = ['event', 'loanType', 'networkId', 'account', 'loanId', 'txHash', 'from', 'to'] as const

/** The names of the filters in the page's address, which are those of the API. */
export function filtersOf(query: URLSearchParams): Partial<Record<(typeof NAMES)[number], string>> {
  return Object.fromEntries(NAMES.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])))
}

export function Filters({ query }: { query: URLSearchParams }) {
  const set = (name: string, value: string): void =>
    go(withQuery({ ...FROM_THE_NEWEST, [name]: value.trim() }))
  const hasAny = NAMES.some((name) => query.has(name))
  const networks = new Set(status.value?.networks.flatMap(({ networkId }) => networkId ?? []))
  const chosen = query.get('networkId')
  if (chosen !== null) networks.add(chosen)
  return (
    <details class="filter-box" open={hasAny || matchMedia('(min-width: 48.01rem)').matches}>
      <summary>Filters</summary>
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Event
          <select
            value={query.get('event') ?? ''}
            onChange={({ currentTarget }) => set('event', currentTarget.value)}
          >
            <option value="">All events</option>
            {EVENT_GROUPS.map(({ title, events }) => (
              <optgroup key={title} label={title}>
                {events.map((event) => (
                  <option key={event} value={event}>
                    {eventWords(event)}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
        <label>
          Market
          <select
            value={query.get('loanType') ?? ''}
            onChange={({ currentTarget }) => set('loanType', currentTarget.value)}
          >
            <option value="">Both markets</option>
            <option value="ERC20FIL">Tokens against FIL</option>
            <option value="FILERC20">FIL against tokens</option>
          </select>
        </label>
        <label>
          Network
          <select
            value={chosen ?? ''}
            onChange={({ currentTarget }) => set('networkId', currentTarget.value)}
          >
            <option value="">All networks</option>
            {[...networks].map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </label>
        <TextFilter name="account" title="Account" query={query} set={set} />
        <TextFilter name="loanId" title="Loan" query={query} set={set} />
        <label>
          From
          <input
            type="date"
            value={query.get('from') ?? ''}
            onChange={({ currentTarget }) => set('from', currentTarget.value)}
          />
        </label>
        <label>
          To
          <input
            type="date"
            value={query.get('to') ?? ''}
            onChange={({ currentTarget }) => set('to', currentTarget.value)}
          />
        </label>
        {hasAny && (
          <a class="button" href="#/">
            Clear
          </a>
        )}
      </form>
    </details>
  )
}

/** Asks once the reader is done typing: on Enter, or when the field is left. */
function TextFilter({
  name,
  title,
  query,
  set,
}: {
  name: string
  title: string
  query: URLSearchParams
  set: (name: string, value: string) => void
}) {
  const typed = useSignal<string | null>(null)
  const given = query.get(name) ?? ''
  const finish = (value: string): void => {
    typed.value = null
    if (value.trim() !== given) set(name, value)
  }
  return (
    <label>
      {title}
      <input
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={typed.value ?? given}
        onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        onChange={({ currentTarget }) => finish(currentTarget.value)}
      />
    </label>
  )
}
