import { isEvmLoanEvent, type ChainEvent } from '../../shared/events/chain-event.ts'
import type { FilecoinIdentity } from '../../shared/events/filecoin-event.ts'

/**
 * (pure) Returns `event`, read again from the block of `before`, with the values that only the first reading knew.
 * Nodes drop the state of old blocks. A term, decimals or an ID that is known now takes precedence.
 */
export function withKnown<Event extends ChainEvent>(before: ChainEvent, event: Event): Event {
  const known: Record<string, unknown> = {}
  if (isEvmLoanEvent(before) && isEvmLoanEvent(event) && before.kind === event.kind) {
    const terms = termsWithKnown(before.terms, event.terms)
    if (terms !== event.terms) known['terms'] = terms
    if (event.tokenDecimals === null && before.tokenDecimals !== null)
      known['tokenDecimals'] = before.tokenDecimals
  }
  const earlier: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(event)) {
    const first = earlier[name]
    if (isIdentity(value) && value.id === null && isIdentity(first) && first.asWritten === value.asWritten)
      known[name] = first
  }
  return Object.keys(known).length === 0 ? event : { ...event, ...known }
}

interface AnyTerms {
  values: object
  unknown?: Record<string, string>
}

function termsWithKnown(before: AnyTerms, terms: AnyTerms): AnyTerms {
  if (terms.unknown === undefined) return terms
  const earlier = new Map<string, unknown>(Object.entries(before.values))
  const isKnown = (name: string): boolean => (earlier.get(name) ?? null) !== null
  if (!Object.keys(terms.unknown).some(isKnown)) return terms
  const values = Object.entries(terms.values).map(([name, value]: [string, unknown]) => [
    name,
    value ?? earlier.get(name) ?? null,
  ])
  const unknown = Object.entries(terms.unknown).filter(([name]) => !isKnown(name))
  return {
    values: Object.fromEntries(values) as object,
    ...(unknown.length > 0 && { unknown: Object.fromEntries(unknown) }),
  }
}

function isIdentity(value: unknown): value is FilecoinIdentity {
  return typeof value === 'object' && value !== null && 'asWritten' in value && 'id' in value
}
