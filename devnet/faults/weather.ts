import { createRandom } from '../evm/random.ts'
import { batchLimits } from './batch-limits.ts'
import { evmLies } from './evm-lies.ts'
import { chanceFrom, type Chance, type Fault, type FaultKind, type FaultKinds } from './fault.ts'
import type { FaultProxy } from './fault-proxy.ts'
import { lotusLies } from './lotus-lies.ts'
import { hangingRanges, rangeLimits } from './range-limits.ts'
import { socketFaults } from './socket-faults.ts'
import type { SocketFault } from './socket-proxy.ts'
import { transportFaults } from './transport-faults.ts'

export const evmFaults: FaultKinds = {
  ...transportFaults,
  ...batchLimits,
  ...rangeLimits,
  ...hangingRanges,
  ...evmLies,
}
export const lotusFaults: FaultKinds = { ...transportFaults, ...lotusLies }

/** The faults of a catalogue that a proxy has now, and how often each of them happened. */
export interface Weather {
  /** The kinds that it may have, including sockets' faults. */
  readonly kinds: readonly string[]
  /** The kinds that are active now. */
  readonly present: readonly string[]
  /** Counts since the start, by kind. */
  readonly counts: ReadonlyMap<string, number>
  /** Activates exactly these kinds and releases everything that hangs. */
  set(kinds: readonly string[]): void
  /** Activates a few kinds, chosen by the seed. */
  change(): void
  clear(): void
}

const MOST_AT_ONCE = 4

/**
 * Gives the proxy faults of this catalogue, by a seed. The first active kind that occurs is applied; `severity` makes
 * all kinds more likely.
 */
export function bringWeather(
  proxy: FaultProxy,
  catalogue: FaultKinds,
  { seed, severity = 1 }: { seed: string; severity?: number },
): Weather {
  const random = createRandom(seed)
  const counts = new Map<string, number>()
  const count = (kind: string): number => counts.set(kind, (counts.get(kind) ?? 0) + 1).size
  const kinds = [...Object.keys(catalogue), ...Object.keys(socketFaults)]
  const faults = new Map<string, Fault>()
  const onSockets = new Map<string, SocketFault>()
  for (const kind of kinds) {
    const { now, below } = chanceFrom(createRandom(`${seed}/${kind}`))
    const chance: Chance = { now: (probability) => now(Math.min(0.7, probability * severity)), below }
    const made = catalogue[kind]?.make(chance)
    if (made !== undefined) faults.set(kind, made)
    const onSocket = socketFaults[kind]?.(chance)
    if (onSocket !== undefined) onSockets.set(kind, onSocket)
  }
  let present: readonly string[] = []

  proxy.fault = async (...asked) => {
    for (const kind of present) {
      const reply = await faults.get(kind)?.(...asked)
      if (reply === null || reply === undefined) continue
      count(kind)
      return reply
    }
    return null
  }
  proxy.socketFault = (text) => {
    for (const kind of present) {
      const what = onSockets.get(kind)?.(text) ?? null
      if (what === null) continue
      count(kind)
      return what
    }
    return null
  }

  const set = (wanted: readonly string[]): void => {
    const unknown = wanted.filter((kind) => !kinds.includes(kind))
    if (unknown.length > 0) throw new Error(`there is no fault "${unknown.join('", "')}"`)
    present = wanted
    proxy.release()
  }
  return {
    ...{ kinds, counts, set },
    get present() {
      return present
    },
    change: () => {
      const chosen = Array.from({ length: random.int(1, MOST_AT_ONCE) }, () => random.pick(kinds))
      const coversUp = (kind: string): string | undefined => catalogue[kind]?.coversUp
      set(
        chosen.filter((kind) => {
          const what = coversUp(kind)
          return what === undefined || chosen.find((one) => coversUp(one) === what) === kind
        }),
      )
    },
    clear: () => set([]),
  }
}

/** Selects the kinds that a network survives when all its endpoints have them, or when one more is truthful. */
export function survivable(catalogue: FaultKinds, has: { witness: boolean; slow: boolean }): FaultKinds {
  const isIn = ({ seenBy, isSlow = false }: FaultKind): boolean =>
    (seenBy === 'visible' || (seenBy === 'witness' && has.witness)) && (has.slow || !isSlow)
  return Object.fromEntries(Object.entries(catalogue).filter(([, kind]) => isIn(kind)))
}

/** Applies all kinds in turn, for a test of one proxy. */
export function everyFault(catalogue: FaultKinds): (chance: Chance) => Fault {
  return (chance) => {
    const faults = Object.values(catalogue).map(({ make }) => make({ ...chance, now: () => true }))
    return async (...asked) => {
      if (!chance.now(0.15)) return null
      return (await faults[chance.below(faults.length)]?.(...asked)) ?? null
    }
  }
}
