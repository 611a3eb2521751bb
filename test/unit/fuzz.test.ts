import t, { type Test } from 'tap'
import { runCampaign } from '../fuzz/campaign.ts'
import { FLAWED_CASE, FLAWED_SEED, flawedInput } from '../fuzz/flawed-targets.ts'
import { makeCase, type TargetReport } from '../fuzz/run-cases.ts'
import { TARGETS } from '../fuzz/targets.ts'

const SEED = 'npm test'
// Seconds of work, which a busy machine makes minutes of.
t.setTimeout(300_000)
const pure = TARGETS.filter(({ needsDatabase }) => needsDatabase !== true)

/** A bounded part of `npm run fuzz`: always the same cases. */
void t.test(`every reader of what others wrote keeps its promises (seed "${SEED}")`, async (t) => {
  const reports = await runCampaign({
    assignments: pure.map(({ name, quickCases }) => ({
      ...{ target: name, seed: SEED, from: 0, count: quickCases, seconds: Infinity },
    })),
    workers: 2,
    needs: { databaseUrl: undefined },
  })
  t.equal(reports.length, pure.length)
  for (const { target, cases, taken, refused, failures } of reports) {
    t.strictSame(failures, [], target)
    t.equal(cases, pure.find(({ name }) => name === target)?.quickCases, target)
    t.equal(taken + refused, cases, target)
    t.ok(taken > 0 && refused > 0, `${target}: ${taken} taken, ${refused} refused`)
  }
})

void t.test('a case is what its seed and number say, whatever ran before it', async (t) => {
  for (const target of pure) {
    const [fresh, used] = [
      await target.open({ databaseUrl: undefined }),
      await target.open({ databaseUrl: undefined }),
    ]
    const which = { target: target.name, seed: SEED }
    for (let number = 0; number < 40; number += 1) await makeCase(used, which, number).feed()
    t.equal(makeCase(used, which, 1_234).show(), makeCase(fresh, which, 1_234).show(), target.name)
    t.not(makeCase(used, which, 1_235).show(), makeCase(fresh, { ...which, seed: 'other' }, 1_235).show())
    await fresh.close?.()
    await used.close?.()
  }
})

const FOUND: [target: string, what: RegExp][] = [
  ['throws', /TypeError: no refusal of its own/],
  ['breaks a promise', /what must hold/],
  ['slow', /^it takes \d{4,} ms/],
  ['takes memory', /^it makes the heap \d{8} bytes larger/],
  ['exhausts the heap', /memory/],
]
const HANGS: [target: string, what: RegExp][] = [['hangs', /^it did not end within 6000 ms/]]

void t.test('the fuzzer finds what it is there to find, and names the case', async (t) => {
  // A busy machine can take many seconds to exhaust a heap: only what never ends may be told to hang.
  await findsAll(t, FOUND, 120_000)
  await findsAll(t, HANGS, 6_000)
})

async function findsAll(t: Test, flaws: [target: string, what: RegExp][], hangMs: number): Promise<void> {
  const reports = await runCampaign({
    assignments: flaws.map(([target]) => ({
      ...{ target, seed: FLAWED_SEED, from: 0, count: 300, seconds: Infinity },
    })),
    workers: 2,
    needs: { databaseUrl: undefined },
    targetsModule: new URL('../fuzz/flawed-targets.ts', import.meta.url).href,
    hangMs,
  })
  const found = (name: string): TargetReport | undefined => reports.find(({ target }) => target === name)
  for (const [target, what] of flaws) {
    const failures = found(target)?.failures ?? []
    t.match(
      failures,
      [{ seed: FLAWED_SEED, case: FLAWED_CASE, what, input: `input ${flawedInput(target)}` }],
      target,
    )
    t.equal(failures.length, 1, target)
  }
}
