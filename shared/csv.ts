/** (pure) CSV as RFC 4180 has it. */

/** A spreadsheet would run a cell that begins so as a formula, also where it is quoted. */
const FORMULA = /^[=+\-@\t\r\n]/
const NEEDS_QUOTES = /[",\r\n]/

/** Writes one cell. An apostrophe before a formula makes it text; an empty cell is null. */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  const harmless = FORMULA.test(text) ? `'${text}` : text
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** Writes one line with its end. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
