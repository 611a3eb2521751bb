import { escapePart } from './route.ts'

/** Links to block explorers. Pure. */

export interface Explorer {
  transaction: string | null
  address: string | null
}

/** Puts a value into its template. Null unless the result is an https address on the template's own host. */
export function explorerLink(
  explorer: Explorer | null | undefined,
  kind: keyof Explorer,
  value: string,
): string | null {
  const template = explorer?.[kind]
  if (typeof template !== 'string') return null
  const filled = template.replace(`{${kind}}`, () => escapePart(value))
  if (filled === template || !URL.canParse(filled) || !URL.canParse(template)) return null
  const url = new URL(filled)
  return url.protocol === 'https:' && url.host === new URL(template).host ? url.href : null
}
