/** (pure) Characters of all texts in a value, its names left out: what it takes in memory, about, where some texts are long. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const part of Object.values(value)) length += textLength(part)
  return length
}
