/** Throws at the first difference: what is not the truth has no figure. */
export function differ(what: string, found: unknown, expected: unknown): void {
  if (found === expected) return
  throw new Error(`${what} is not the truth: no figure
found    ${String(found)}
expected ${String(expected)}`)
}

/** As above, of lists in their order. */
export function compareLists(what: string, found: readonly string[], expected: readonly string[]): void {
  differ(what, found.length, expected.length)
  for (const [index, said] of found.entries()) differ(`${index + 1} of the ${what}`, said, expected[index])
}
