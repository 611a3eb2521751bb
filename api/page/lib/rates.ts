import { formatAmount, fromBaseUnits } from './format.ts'

const DECIMALS = 18

/** Writes a share as percent, exactly moved by two digits and then cut: 0.0725 is 7.25. Pure. */
export function ratePercent(share: string): string {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(share) ?? []
  if (whole === undefined) return formatAmount(share)
  const units = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return formatAmount(fromBaseUnits(units, DECIMALS - 2), 2)
}
