import { cpus, totalmem } from 'node:os'

/** Describes the machine, because a figure means nothing without it. */
export function machineFacts(): string {
  const [cpu] = cpus()
  return `${cpus().length} x ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, node ${process.version}`
}

/** Returns the `p`-th percentile of the samples, by nearest rank. */
export function percentile(samples: number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)] ?? NaN
}

export const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

export interface Spread {
  median: number
  least: number
  most: number
}

export function spreadOf(samples: number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const [low, high] = [sorted[Math.floor(middle)] ?? NaN, sorted[Math.ceil(middle)] ?? NaN]
  return { median: (low + high) / 2, least: sorted[0] ?? NaN, most: sorted.at(-1) ?? NaN }
}

/** Milliseconds of a clock that all processes of this machine share and that is never set. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Formats the median with the least and the most. */
export function spreadText({ median, least, most }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${least.toFixed(digits)} – ${most.toFixed(digits)})`
}
