import type { Sample } from './soak-sample.ts'
import type { Tally } from './tally.ts'

/** Quantities that must not grow with time, by name, with the maximum of each. */
const BOUNDS: readonly [name: RegExp, most: number][] = [
  [/: resident MiB$/, 300],
  [/: open files$/, 150],
  [/^database sessions$/, 60],
  [/^advisory locks$/, 4],
  [/^rows of ledger\.block_headers$/, 1_000],
  [/^rows of ledger\.ranges_read$/, 1_000],
  [/^rows of ledger\.waiting_vouchers$/, 500],
  [/^rows of ledger\.dead_letters$/, 100],
  [/^queue: (jobs|keys in Redis)$/, 400],
]
/** Exceeds the cost of a database that is away or a process that is frozen. */
const MOST_UNAVAILABLE_SHARE = 0.05

/** (pure) Returns the quantities above their bounds, in lines; also bounds for which no quantity was measured. */
export function outOfBounds(samples: readonly Sample[]): string[] {
  const names = [...new Set(samples.flatMap(({ held }) => Object.keys(held)))]
  return BOUNDS.flatMap(([pattern, bound]) => {
    const own = names.filter((name) => pattern.test(name))
    if (own.length === 0) return [`nothing was seen of ${pattern.source}`]
    return own.flatMap((name) => {
      const most = Math.max(...samples.map(({ held }) => held[name] ?? 0))
      return most <= bound ? [] : [`${name}: ${most}, and at most ${bound} are needed`]
    })
  })
}

/** (pure) Returns the API's unexpected answers, in lines. */
export function badAnswers(happened: Tally): string[] {
  const of = (pattern: RegExp): number =>
    [...happened].reduce((sum, [what, times]) => sum + (pattern.test(what) ? times : 0), 0)
  const [all, unavailable] = [of(/^answers |^no answer/), of(/^answers 503/)]
  return [
    ...[...happened]
      .filter(([what]) => /^no answer|^answers 5(?!03)/.test(what))
      .map(([what, times]) => `${what}: ${times} times`),
    ...(of(/^answers 200/) === 0 ? ['no page and no loan was answered'] : []),
    ...(unavailable > all * MOST_UNAVAILABLE_SHARE ? [`${unavailable} of ${all} answers were 503`] : []),
  ]
}
