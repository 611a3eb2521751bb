/** (pure) What the status said over the last minutes, for the charts. */
import type { NetworkHealth } from '../../../../client/generated/types.gen.ts'

export interface Sample {
  /** Unix seconds. */
  at: number
  head: number | null
  indexed: number | null
  finalized: number | null
  lagSeconds: number | null
}

/** Samples that are kept of each network: a quarter of an hour, one every four seconds. */
export const MOST_SAMPLES = 225

export type Samples = Readonly<Record<string, readonly Sample[]>>

/** Adds what each network says now. A network that is not named any more keeps its samples. */
export function withSamples(before: Samples, networks: readonly NetworkHealth[], at: number): Samples {
  const added = networks.map(({ network, head, indexed, finalized, lagSeconds }) => {
    const kept = before[network] ?? []
    return [network, [...kept, { at, head, indexed, finalized, lagSeconds }].slice(-MOST_SAMPLES)] as const
  })
  return { ...before, ...Object.fromEntries(added) }
}

/** A sentence for those who do not see the chart. */
export function lagSummary(samples: readonly Sample[]): string {
  const lags = samples.map(({ lagSeconds }) => lagSeconds).filter((lag) => lag !== null)
  const last = lags.at(-1)
  if (last === undefined) return 'The lag is not known.'
  return `The lag is ${last} s, and was at most ${Math.max(...lags)} s since this page has watched.`
}
