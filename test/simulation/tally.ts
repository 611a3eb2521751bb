/** Counts by name. */
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

/** The effects of a storm. */
export interface Toll {
  /** Mishaps of processes and clocks, by name. */
  mishaps: Tally
  /** `EVM 7`: reorgs of 7 blocks of the EVM chain. */
  reorgs: Tally
  /** Kills by process and its activity at that moment. */
  kills: Tally
}

export function emptyToll(): Toll {
  return { mishaps: new Map(), reorgs: new Map(), kills: new Map() }
}
