/**
 * (pure) Cuts a list into consecutive parts, none of which has more than `most` (at least 1) of the items that `counts`; the
 * others cost nothing. An empty list has no parts.
 */
export function cutParts<T>(items: readonly T[], counts: (item: T) => boolean, most: number): T[][] {
  const parts: T[][] = []
  let room = 0
  for (const item of items) {
    const counted = counts(item) ? 1 : 0
    const part = parts.at(-1)
    if (part === undefined || room < counted) {
      parts.push([item])
      room = most - counted
    } else {
      part.push(item)
      room -= counted
    }
  }
  return parts
}
