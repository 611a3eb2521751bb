/**
 * What `work` makes of each item, in the items' order; up to `most` are worked on at once. Once one fails no further is
 * begun, and the failure is thrown when those that were under way have ended.
 */
export async function sideBySide<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  let isFailed = false
  const lane = async (): Promise<void> => {
    for (const [index, item] of left) {
      try {
        results[index] = await work(item)
      } catch (error) {
        isFailed = true
        throw error
      }
      if (isFailed) return
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, lane))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return results
}
