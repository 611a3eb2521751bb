/**
 * Returns a block after `equal`, up to `different`, at which log and chain begin to differ, by binary search: it asks
 * log2 times. Null when `signal` aborts first.
 */
export async function searchDifference(
  equal: number,
  different: number,
  isEqualAt: (block: number) => Promise<boolean>,
  signal: AbortSignal,
): Promise<number | null> {
  let [low, high] = [equal, different]
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    const isEqual = await isEqualAt(middle)
    if (signal.aborted) return null
    if (isEqual) low = middle
    else high = middle
  }
  return high
}
