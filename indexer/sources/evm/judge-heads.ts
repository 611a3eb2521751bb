/** (pure) Decides which endpoints are behind, from one comparison of their heads. */

export interface FoundHead<Endpoint> {
  endpoint: Endpoint
  head: number
  /** The endpoint was behind before this comparison. */
  isBehind: boolean
}

/** `caught up` and `fell behind` are changes; an endpoint without a verdict stays as it was. */
export interface HeadVerdict<Endpoint> {
  endpoint: Endpoint
  head: number
  verdict: 'caught up' | 'still behind' | 'fell behind'
}

/**
 * `heads`: the first is of the endpoint that answered before the comparison. `newestBefore`: the newest head at the last
 * comparison, or -1. An endpoint falls behind when it lacks a block that another had by then, and another has now. It has
 * caught up when it has the head that another one gave just before. Returns null when nothing can be said.
 */
export function judgeHeads<Endpoint>(
  heads: readonly FoundHead<Endpoint>[],
  newestBefore: number,
): { newest: number; verdicts: HeadVerdict<Endpoint>[] } | null {
  const [first] = heads
  // Endpoints that are behind do not show how far the chain is.
  if (first === undefined || heads.length < 2 || heads.every(({ isBehind }) => isBehind)) return null
  const newest = Math.max(...heads.map(({ head }) => head))
  const told = first.isBehind ? newest : first.head
  const verdicts = heads.flatMap(({ endpoint, head, isBehind }): HeadVerdict<Endpoint>[] => {
    if (isBehind) return [{ endpoint, head, verdict: head >= told ? 'caught up' : 'still behind' }]
    return head < Math.min(newest, newestBefore) ? [{ endpoint, head, verdict: 'fell behind' }] : []
  })
  return { newest, verdicts }
}
