/** The value of the key, made if there is none yet. */
export function madeOnce<T>(made: Map<string, T>, key: string, make: () => T): T {
  const value = made.get(key) ?? make()
  made.set(key, value)
  return value
}
