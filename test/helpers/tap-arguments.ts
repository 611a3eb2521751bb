/** tap's options whose value may be the next argument, which else looks like a file. */
const WITH_VALUE: Record<string, string> = {
  '-g': '--grep',
  '--grep': '--grep',
  '-R': '--reporter',
  '--reporter': '--reporter',
}

/** Writes `-g NAME` as `--grep=NAME`. */
export function joinValues(given: string[]): string[] {
  const [first, second, ...rest] = given
  if (first === undefined) return []
  const option = WITH_VALUE[first]
  if (option === undefined || second === undefined) return [first, ...joinValues(given.slice(1))]
  return [`${option}=${second}`, ...joinValues(rest)]
}
