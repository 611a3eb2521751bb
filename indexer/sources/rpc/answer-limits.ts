/** Limits of one answer. */
export interface AnswerLimit {
  /** Most bytes of the unpacked body. */
  bytes: number
  /** Most JSON values; see `exceededBound`. */
  values: number
  /**
   * Set when an honest answer can be larger, because the chain decides its size. Such an answer is then no fault of the
   * endpoint.
   */
  mayBeLarger?: boolean
}

/** Limits by method name. */
export type AnswerLimits = Readonly<Record<string, AnswerLimit>>

const KIB = 1024
const MIB = 1024 * KIB

/** Limit of an answer with a few fields. */
export const SMALL_ANSWER: AnswerLimit = { bytes: 64 * KIB, values: 2_000 }

/**
 * Most bytes of the large answers of all networks together. A network may hold several at once, as text, as values and
 * as results. The indexer's heap has 192 MiB.
 */
const ALL_NETWORKS = 32 * MIB
const LARGEST = 8 * MIB
/** A busy Filecoin tipset needs half of this. */
const SMALLEST_LARGEST = 4 * MIB
/** These values take up to 40 MB of heap, whatever they are. One answer is parsed at a time. */
const MOST_VALUES = 300_000

let networks = 0

/** Counts a network until the returned function is called. */
export function joinNetworks(): () => void {
  networks += 1
  return () => {
    networks -= 1
  }
}

/** Returns the bytes of the largest body that is read; the more networks, the fewer. */
export function largestAnswer(): number {
  return Math.min(LARGEST, Math.max(SMALLEST_LARGEST, Math.floor(ALL_NETWORKS / Math.max(1, networks))))
}

/** Returns the limit of one body that answers these methods: their sum, capped by memory. */
export function limitOf(methods: readonly string[], limits: AnswerLimits): AnswerLimit {
  const each = methods.map((method) => limits[method] ?? SMALL_ANSWER)
  const sum = (of: (limit: AnswerLimit) => number): number =>
    each.reduce((total, limit) => total + of(limit), 0)
  return {
    bytes: Math.min(
      largestAnswer(),
      sum(({ bytes }) => bytes),
    ),
    values: Math.min(
      MOST_VALUES,
      sum(({ values }) => values),
    ),
    mayBeLarger: each.some(({ mayBeLarger }) => mayBeLarger === true),
  }
}
