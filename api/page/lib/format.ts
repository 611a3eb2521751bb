/** Texts for people. Pure: no clock, no document; values from a chain may be anything. */

const HEAD = 8
const TAIL = 6

/** Shortens an address, hash or voucher in the middle, everywhere in the same way. */
export function shorten(text: string): string {
  const characters = Array.from(text)
  if (characters.length <= HEAD + TAIL + 2) return text
  return `${characters.slice(0, HEAD).join('')}…${characters.slice(-TAIL).join('')}`
}

/** Cuts text off after some characters. */
export function clip(text: string, most = 80): string {
  const characters = Array.from(text)
  return characters.length <= most ? text : `${characters.slice(0, most).join('')}…`
}

/** Writes base units as exact decimal text in whole units: 1500000 with 6 decimals is 1.5. */
export function fromBaseUnits(amount: bigint, decimals: number): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/**
 * Groups exact decimal text and cuts its fraction, never rounding up: 13697.064280037 is 13,697.0642. A small amount keeps
 * its first digits, so that nothing is shown as 0 but 0. Other text comes back as it is.
 */
export function formatAmount(text: string, digits = 4): string {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === '') return clip(text, 40)
  const grouped = whole.replace(/^0+(?=\d)/, '').replace(/\B(?=(\d{3})+$)/g, ',')
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  const kept = fraction.slice(0, grouped === '0' ? zeros + digits : digits).replace(/0+$/, '')
  return `${sign}${grouped}${kept === '' ? '' : `.${kept}`}`
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** Names a length of time by its two largest units: 2 h 5 min. `seconds` is not negative. */
export function formatDuration(seconds: number): string {
  const rest = Math.floor(seconds)
  const first = UNITS.findIndex(([, length]) => rest >= length)
  if (first === -1) return '0 s'
  const parts = UNITS.slice(first, first + 2).map(([name, length], index) => {
    const above = index === 0 ? rest : rest % (UNITS[first]?.[1] ?? 1)
    return [Math.floor(above / length), name] as const
  })
  return parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(' ')
}

/** Says how far a moment is from now, in its largest unit: `3 min ago`, `in 2 h`. Both in milliseconds. */
export function relativeTime(atMs: number, nowMs: number): string {
  const seconds = Math.round(Math.abs(atMs - nowMs) / 1000)
  if (seconds < 5) return 'now'
  const [name, length] = UNITS.find(([, unit]) => seconds >= unit) ?? ['s', 1]
  const count = `${Math.floor(seconds / length)} ${name}`
  return atMs > nowMs ? `in ${count}` : `${count} ago`
}

/** Reads an ISO time, or Unix seconds as decimal text. Returns milliseconds, or null if it is neither. */
export function toMs(time: string): number | null {
  const ms = /^\d+$/.test(time) ? Number(time) * 1000 : Date.parse(time)
  // The range of dates in JavaScript.
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : null
}

/** Writes a moment exactly, in the reader's zone or the one that is given, with the zone's name. */
export function exactTime(atMs: number, timeZone?: string): string {
  return new Date(atMs).toLocaleString('en-GB', {
    ...{ year: 'numeric', month: 'short', day: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
    ...(timeZone === undefined ? {} : { timeZone }),
  })
}

/** Groups a whole number: 1,234,567. */
export function formatCount(count: number): string {
  return Math.trunc(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A whole number of things: 1 block, 1,234 blocks. */
export function countOf(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`
}

/**
 * Reads the text of a Filecoin address that a contract keeps as hex bytes, with zeros behind it. Other bytes come back as
 * they are.
 */
export function filecoinText(hex: string): string {
  const [, digits] = /^0x((?:(?!00)[0-9a-f]{2})+)(?:00)*$/i.exec(hex) ?? []
  if (digits === undefined) return hex
  const text = digits.replace(/../g, (byte) => String.fromCharCode(parseInt(byte, 16)))
  return /^[ft][0-4][0-9a-z]{1,86}$/.test(text) ? text : hex
}

/** Splits an event's name into words: `LendFIL/SignWithdrawVoucher` is `Sign withdraw voucher`. */
export function eventWords(event: string): string {
  const words = clip(event.slice(event.indexOf('/') + 1)).replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  const lower = words.replace(/\b[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase())
  return lower.charAt(0).toUpperCase() + lower.slice(1)
}
