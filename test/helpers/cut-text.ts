/** The text's bytes in pieces, some of them perhaps empty, cut at these places: any numbers will do. */
export function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const ends = [...places.map((place) => place % (bytes.byteLength + 1)), bytes.byteLength].sort(
    (a, b) => a - b,
  )
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

/** In one piece. */
export function uncut(text: string): Buffer[] {
  return [Buffer.from(text)]
}
