/** (pure) Characters of all texts in a value, its names left out: what it takes in memory, about, where some texts are long. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!isRecord(value)) return 0
  let length = 0
  // Each event is measured: a list of its values, made for this alone, would cost more than the looking.
  for (const name in value) {
    const inner = value[name]
    if (typeof inner === 'string') length += inner.length
    else if (isRecord(inner)) length += textLength(inner)
  }
  return length
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
