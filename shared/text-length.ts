/** (pure) Characters of all texts in a value, without property names: about its memory if some texts are long. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!isRecord(value)) return 0
  let length = 0
  // Every event is measured, and an array of its values would cost more than the measurement.
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
