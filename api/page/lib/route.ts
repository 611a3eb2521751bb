/** Addresses within the page, as in `#/loan/ERC20/7?asOf=282000000`. */
export interface Route {
  /** The first part; empty for the front view. */
  view: string
  /** Decoded parts after the view. */
  parts: string[]
  query: URLSearchParams
}

/** Reads a location's hash. Malformed escapes are kept as they are. */
export function parseHash(hash: string): Route {
  const [path = '', query = ''] = split(hash.replace(/^#?\/?/, ''))
  const [view = '', ...parts] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decode)
  return { view, parts, query: new URLSearchParams(query) }
}

/** Writes the hash of an address: parts are escaped, undefined and empty values of the query are left out. */
export function hashOf(
  parts: string[],
  query: Record<string, string | undefined> | URLSearchParams = {},
): string {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query)
  const given = entries.filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  const text = new URLSearchParams(given).toString()
  return `#/${parts.map(escapePart).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Half a character, which no address can hold, becomes the sign for one that is not known. */
export function escapePart(part: string): string {
  return encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\ufffd'))
}

/** The address of a loan's view. `market` is `ERC20` or `FIL`, as in the API's lookups. */
export function loanHash(market: string, loanId: string, query?: Record<string, string | undefined>): string {
  return hashOf(['loan', market, loanId], query)
}

/** The market of the lookups for a record's `loanType`. */
export function marketOf(loanType: string): 'ERC20' | 'FIL' {
  return loanType === 'ERC20FIL' ? 'ERC20' : 'FIL'
}

export function accountHash(account: string): string {
  return hashOf(['account', account])
}

function split(text: string): string[] {
  const at = text.indexOf('?')
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
