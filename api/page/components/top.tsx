import { useSignal, useSignalEffect } from '@preact/signals'
import { hashOf } from '../lib/route.ts'
import { go, route } from '../router.ts'

const LINKS = [
  ['', 'Activity'],
  ['orders', 'Orders'],
  ['status', 'Status'],
  ['tour', 'Tour'],
] as const

/** The bar at the top of every view. */
export function Top() {
  const skip = (event: Event): void => {
    event.preventDefault()
    document.getElementById('main')?.focus()
  }
  const { view } = route.value
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <a class="brand" href="#/">
        Loan activity
      </a>
      <nav aria-label="Views">
        {LINKS.map(([name, title]) => (
          <a key={name} href={`#/${name}`} aria-current={view === name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <SearchBox />
    </header>
  )
}

function SearchBox() {
  const text = useSignal('')
  useSignalEffect(() => {
    const { view, query } = route.value
    text.value = view === 'search' ? (query.get('q') ?? '') : ''
  })
  const search = (event: Event): void => {
    event.preventDefault()
    const q = text.value.trim()
    if (q !== '') go(hashOf(['search'], { q }))
  }
  return (
    <form role="search" class="search" onSubmit={search}>
      <input
        type="search"
        name="q"
        aria-label="Search for a loan, an account, a transaction, a channel or a voucher"
        placeholder="Loan, account, hash, voucher"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="submit">Search</button>
    </form>
  )
}
