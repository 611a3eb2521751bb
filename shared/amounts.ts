/**
 * Exact decimal text of an amount in whole units: 1500000n with 6 decimals is "1.5". It has no exponent and no trailing
 * zeros, and never passes through a JavaScript number. Throws a RangeError on invalid `decimals`.
 */
export function formatUnits(amount: bigint, decimals: number): string {
  if (!Number.isInteger(decimals) || decimals < 0)
    throw new RangeError(`decimals must be a whole number from 0, not ${decimals}`)
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  let end = digits.length
  while (end > point && digits[end - 1] === '0') end -= 1
  return sign + digits.slice(0, point) + (end === point ? '' : `.${digits.slice(point, end)}`)
}

/** The inverse of {@link formatUnits}. Throws a RangeError on anything that is not exact in `decimals`. */
export function parseUnits(text: string, decimals: number): bigint {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  const [, sign = '', whole = '', fraction = ''] = match ?? []
  if (match === null || fraction.length > decimals) {
    throw new RangeError(`"${text}" is not a decimal amount with at most ${decimals} decimals`)
  }
  const magnitude = BigInt(whole + fraction.padEnd(decimals, '0'))
  return sign === '-' ? -magnitude : magnitude
}
