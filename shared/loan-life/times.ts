/** (pure) Times on both chains, and the conversion between them. */

/** The last indexed block of a network, or its last indexed tipset. */
export interface Clock {
  network: string
  height: number
  /** Unix seconds of that block. */
  timeS: number
  /** Measured over the blocks that a reorg may still touch; null if there are too few. */
  secondsPerHeight: number | null
}

export type ChainTime = { time: string; block: number | null } | { time: string; epoch: number }

export type Basis =
  | { network: string; block: number; time: string; secondsPerBlock: number | null }
  | { network: string; epoch: number; time: string; secondsPerEpoch: number }

/** When something is possible, both ends included: Unix seconds on EVM chains, epochs on Filecoin; null is no limit. */
export interface Window {
  from: bigint | null
  until: bigint | null
}

export const ALWAYS: Window = { from: null, until: null }
/** Used where nothing is indexed that shows the network's own. */
export const EPOCH_S = 30
/** The last second of the year 9999; times after it have no ISO form of four digits and count as never. */
const LAST_S = 253_402_300_799n

/** ISO text with milliseconds; null outside the years 1970 to 9999. */
export function isoOf(seconds: bigint): string | null {
  return seconds < 0n || seconds > LAST_S ? null : new Date(Number(seconds) * 1000).toISOString()
}

/** The time of an epoch, Unix seconds: exact, because tipsets have a fixed distance. */
export function secondsOfEpoch(epoch: bigint, clock: Clock): bigint {
  const perEpoch = clock.secondsPerHeight ?? EPOCH_S
  const thousandths = BigInt(Math.round(perEpoch * 1000))
  return BigInt(clock.timeS) + ((epoch - BigInt(clock.height)) * thousandths) / 1000n
}

export function isFilecoin(network: string): boolean {
  return network.startsWith('filecoin:')
}

/**
 * Converts one end of a window. On EVM chains the block is an estimate: the first one not before a start, the last one
 * not after an end. Null if there is no limit, or none before the year 10000.
 */
export function chainTime(
  value: bigint | null,
  end: 'from' | 'until',
  network: string,
  clock: Clock | undefined,
): ChainTime | null {
  if (value === null) return null
  if (isFilecoin(network)) {
    const time = clock === undefined ? null : isoOf(secondsOfEpoch(value, clock))
    return time === null ? null : { time, epoch: Number(value) }
  }
  const time = isoOf(value)
  return time === null ? null : { time, block: blockAt(Number(value), end, clock) }
}

function blockAt(seconds: number, end: 'from' | 'until', clock: Clock | undefined): number | null {
  if (clock === undefined || clock.secondsPerHeight === null) return null
  const blocks = (seconds - clock.timeS) / clock.secondsPerHeight
  return Math.max(0, clock.height + (end === 'from' ? Math.ceil(blocks) : Math.floor(blocks)))
}

export function basisOf(network: string, clock: Clock | undefined): Basis | null {
  const time = clock === undefined ? null : isoOf(BigInt(clock.timeS))
  if (clock === undefined || time === null) return null
  return isFilecoin(network)
    ? { network, epoch: clock.height, time, secondsPerEpoch: clock.secondsPerHeight ?? EPOCH_S }
    : { network, block: clock.height, time, secondsPerBlock: clock.secondsPerHeight }
}

/** Whether the window has ended before the next block, or begins never. Without a clock nothing has ended. */
export function isOver({ from, until }: Window, network: string, clock: Clock | undefined): boolean {
  if (from !== null && until !== null && from > until) return true
  if (isFilecoin(network)) {
    if (clock === undefined) return false
    if (from !== null && isoOf(secondsOfEpoch(from, clock)) === null && from > 0n) return true
    return until !== null && until <= BigInt(clock.height)
  }
  if (from !== null && from > LAST_S) return true
  return until !== null && clock !== undefined && until < BigInt(clock.timeS)
}
