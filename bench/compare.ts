/** Throws at the first difference, because a wrong result gets no figure. */
export function differ(what: string, found: unknown, expected: unknown): void {
  if (found === expected) return
  throw new Error(`${what} is not the truth: no figure
found    ${String(found)}
expected ${String(expected)}`)
}

/** Compares lists in their order and throws at the first difference. */
export function compareLists(what: string, found: readonly string[], expected: readonly string[]): void {
  differ(what, found.length, expected.length)
  for (const [index, said] of found.entries()) differ(`${index + 1} of the ${what}`, said, expected[index])
}
