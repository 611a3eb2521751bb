import type { LoanState } from '../../indexer/sources/evm/decode-loan.ts'

/** Returns all values of a loan by name: its getters compute them, so a plain copy lacks them. */
export function loanValues(loan: LoanState | null): Record<string, unknown> | null {
  if (loan === null) return null
  const values: Record<string, unknown> = {}
  for (let at: object = loan; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if ('get' in property) values[name] = loan[name as keyof LoanState]
    }
  }
  return values
}
