/** The text in pieces, some of them perhaps empty, cut at these places: any numbers will do. */
export function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b)
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}
