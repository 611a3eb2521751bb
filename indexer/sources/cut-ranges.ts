/**
 * (pure) Cuts a list into consecutive ranges, none of which has more than `most` (at least 1) of the items that `counts`; the
 * others cost nothing. An empty list has no ranges.
 */
export function cutRanges<T>(items: readonly T[], counts: (item: T) => boolean, most: number): T[][] {
  const ranges: T[][] = []
  let room = 0
  for (const item of items) {
    const counted = counts(item) ? 1 : 0
    const range = ranges.at(-1)
    if (range === undefined || room < counted) {
      ranges.push([item])
      room = most - counted
    } else {
      range.push(item)
      room -= counted
    }
  }
  return ranges
}
