/** Formats JSON as a node does: bigints are bare numbers of any length, bytes are base64. */
export function lotusText(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString('base64')}"`
  if (Array.isArray(value)) return `[${value.map(lotusText).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${lotusText(field)}`).join(',')}}`
  }
  // A method without a result returns undefined.
  return value === undefined ? 'null' : JSON.stringify(value)
}
