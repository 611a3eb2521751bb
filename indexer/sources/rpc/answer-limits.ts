/** How much an answer may hold. */
export interface AnswerLimit {
  /** Bytes of the unpacked body. */
  bytes: number
  /** See `exceededBound`. */
  values: number
  /**
   * Whether an honest answer can be larger, for it is as large as the chain makes it. Then too large an answer says nothing
   * against the endpoint.
   */
  mayBeLarger?: boolean
}

/** The limits of a chain's methods, by their names. */
export type AnswerLimits = Readonly<Record<string, AnswerLimit>>

const KIB = 1024
const MIB = 1024 * KIB

/** A few fields. */
export const SMALL_ANSWER: AnswerLimit = { bytes: 64 * KIB, values: 2_000 }

/**
 * Bytes that the large answers of all networks may take together. A network may have several at once, as text, as values and as what
 * is made of them; the indexer's heap has 192 MiB.
 */
const ALL_NETWORKS = 32 * MIB
const LARGEST = 8 * MIB
/** A busy Filecoin tipset needs half of it. */
const SMALLEST_LARGEST = 4 * MIB
/** They take up to 40 MB of heap, whatever is in them; one answer is parsed at a time. */
const MOST_VALUES = 300_000

let networks = 0

/** Counts a network until the function that is returned is called. */
export function joinNetworks(): () => void {
  networks += 1
  return () => {
    networks -= 1
  }
}

/** Bytes of the largest body that is read: less where more networks are read at once. */
export function largestAnswer(): number {
  return Math.min(LARGEST, Math.max(SMALLEST_LARGEST, Math.floor(ALL_NETWORKS / Math.max(1, networks))))
}

/** The limit of one body that answers these methods: their sum, as far as memory goes. */
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
