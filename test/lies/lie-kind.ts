import type { Test } from 'tap'
import type { Random } from '../../devnet/evm/random.ts'

/**
 * - refused: the reading threw;
 * - harmless: what was read is the truth;
 * - found: it was read with a kind that does not exclude it, and a later proof names it;
 * - open: it was read with a kind that does not exclude it, and nothing names it;
 * - accepted: it was read with a kind that claims to exclude it.
 */
export type Outcome = 'refused' | 'harmless' | 'found' | 'open' | 'accepted'

/** One kind of lie that the only endpoint tells. */
export interface LieKind {
  name: string
  /** The proof that shows the lie, or why nothing does. */
  shownBy: string
  /** Tells the lie once, about a place that chance chooses. */
  tell: (random: Random) => Promise<Outcome>
}

/** A way of reading, with the lies that can be told to it. */
export interface LieGroup {
  name: string
  about: string
  begin: (t: Pick<Test, 'teardown'>, seed: string) => Promise<LieKind[]>
}

export interface LieCounts {
  group: string
  kind: string
  told: number
  outcomes: Record<Outcome, number>
  shownBy: string
  seconds: number
}

/** Tells so many lies of a kind. */
export async function countLies(
  group: string,
  { name, shownBy, tell }: LieKind,
  lies: number,
  random: Random,
): Promise<LieCounts> {
  const outcomes: Record<Outcome, number> = { refused: 0, harmless: 0, found: 0, open: 0, accepted: 0 }
  const startMs = performance.now()
  for (let told = 0; told < lies; told += 1) outcomes[await tell(random)] += 1
  return { group, kind: name, told: lies, outcomes, shownBy, seconds: (performance.now() - startMs) / 1000 }
}

/** Returns a table in Markdown. */
export function tableOf(counts: readonly LieCounts[]): string {
  const rows = counts.map(({ group, kind, told, outcomes, shownBy }) => {
    const { refused, harmless, found, open, accepted } = outcomes
    return `| ${group} | ${kind} | ${told} | ${refused} | ${harmless} | ${found} | ${open} | ${accepted} | ${shownBy} |`
  })
  return `| read | lie | told | refused | truth read | found later | not claimed | accepted | shown by |
|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}`
}
