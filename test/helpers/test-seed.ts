import type { Test } from 'tap'

/** Fixed in CI, whose verdict on a commit must not depend on the time of day. */
const SEED_IN_CI = 20_261_121

/**
 * The seed of all of a file's choices, printed as a comment. SEED sets it, to rerun a failing one. Otherwise it is new
 * each time, but constant in CI.
 */
export function testSeed(t: Pick<Test, 'comment'>): number {
  const chosen = process.env['SEED'] ?? ''
  const unchosen = process.env['CI'] === 'true' ? SEED_IN_CI : Date.now() % 1_000_000
  const seed = chosen === '' ? unchosen : Number(chosen)
  if (!Number.isSafeInteger(seed))
    throw new Error(`SEED=${chosen} is no whole number, which this test's seeds are`)
  t.comment(`SEED=${seed}`)
  return seed
}
