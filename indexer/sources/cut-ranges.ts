/**
 * (pure) Cuts a list into consecutive ranges of at most `most` counted items each; `most` is at least 1. `counts`
 * selects the items that count; the others are free. An empty list gives no ranges.
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
