/** How often each thing happened, by name. */
export type Tally = Map<string, number>

export function add(tally: Tally, what: string, times = 1): void {
  tally.set(what, (tally.get(what) ?? 0) + times)
}

export function describeTally(tally: Tally): string {
  return [...tally]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([what, times]) => `${what} x${times}`)
    .join(', ')
}

/** What a storm brought. */
export interface Toll {
  /** By name: what happened to processes and clocks. */
  mishaps: Tally
  /** `EVM 7`: reorgs of 7 blocks of the EVM chain. */
  reorgs: Tally
  /** Which process was killed, and what it was doing. */
  kills: Tally
}

export function emptyToll(): Toll {
  return { mishaps: new Map(), reorgs: new Map(), kills: new Map() }
}
