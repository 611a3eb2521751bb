import type { FuzzRandom } from './random.ts'

/** The result of the code under test for an input. Both must occur, or the inputs prove nothing. */
export type Outcome = 'taken' | 'refused'

/** One input: `feed` passes it to the code under test and throws when a promise does not hold. */
export interface FuzzCase {
  feed: () => Outcome | Promise<Outcome>
  /** The input in readable form: hex or JSON. */
  show: () => string
}

/** External resources that some targets need. */
export interface TargetNeeds {
  /** A migrated database of the run's own; undefined where no target needs one. */
  databaseUrl: string | undefined
}

/** A target with its samples, ready to run. */
export interface OpenTarget {
  make: (random: FuzzRandom) => FuzzCase
  close?: () => Promise<void>
}

export interface FuzzTarget {
  name: string
  /** The kind of input, and the invariants checked. */
  about: string
  /** Number of cases in a full run. */
  cases: number
  /** Number of cases in `npm test`. */
  quickCases: number
  needsDatabase?: true
  /** Builds the samples: always the same, because a case's input must follow from its seed and number. */
  open: (needs: TargetNeeds) => OpenTarget | Promise<OpenTarget>
}

export const MILLION = 1_000_000

/** Longer inputs are not shown; they can be made again from the seed. */
const SHOWN_CHARACTERS = 4_000

export function shown(input: unknown): string {
  const text = typeof input === 'string' ? JSON.stringify(input) : jsonOf(input)
  return text.length <= SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`
}

function jsonOf(input: unknown): string {
  try {
    return JSON.stringify(input, (_, value: unknown) => {
      if (typeof value === 'bigint') return `${value.toString()}n`
      return value instanceof Uint8Array ? `0x${Buffer.from(value).toString('hex')}` : value
    })
  } catch {
    return 'an input that nests too deep to be shown'
  }
}

/** Throws for text that Postgres cannot store: a NUL or half of a surrogate pair. */
export function mustBeStorable(value: unknown): void {
  const json = JSON.stringify(value)
  // JSON.stringify escapes exactly these; a backslash before the escape makes it four plain characters.
  const match = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/.exec(json)
  if (match !== null)
    throw new Error(`not storable: ${json.slice(Math.max(0, match.index - 40), match.index + 20)}`)
}

export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
