import { computed, signal } from '@preact/signals'
import { hashOf, parseHash, type Route } from './lib/route.ts'

const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

/** The present route. */
export const route = computed<Route>(() => parseHash(hash.value))

/** Goes to an address of the page. With `replace` the back button skips the address that is left. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.hash) return
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  hash.value = location.hash
}

addEventListener('popstate', () => (hash.value = location.hash))

/** The present address with other values in its query; undefined removes one. */
export function withQuery(changes: Record<string, string | undefined>): string {
  const { view, parts, query } = route.value
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  return hashOf(view === '' ? [] : [view, ...parts], next)
}
