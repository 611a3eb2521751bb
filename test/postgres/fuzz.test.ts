import t from 'tap'
import { runCampaign } from '../fuzz/campaign.ts'
import { prepareDatabase } from '../fuzz/prepare-database.ts'
import { TARGETS } from '../fuzz/targets.ts'
import { testDatabase } from '../helpers/database.ts'

const SEED = 'npm test'
// Seconds of work, which a busy machine makes minutes of.
t.setTimeout(900_000)

/** As test/unit/fuzz.test.ts, of what needs a database: requests, and what refused jobs hold. */
void t.test(`requests and refused jobs of any kind (seed "${SEED}")`, async (t) => {
  const { url } = await testDatabase(t)
  await prepareDatabase(url)
  const targets = TARGETS.filter(({ needsDatabase }) => needsDatabase === true)
  const reports = await runCampaign({
    assignments: targets.map(({ name, quickCases }) => ({
      ...{ target: name, seed: SEED, from: 0, count: quickCases, seconds: Infinity },
    })),
    workers: 1,
    needs: { databaseUrl: url },
  })
  t.equal(reports.length, targets.length)
  for (const { target, taken, refused, failures } of reports) {
    t.strictSame(failures, [], target)
    t.ok(taken > 0 && refused > 0, `${target}: ${taken} taken, ${refused} refused`)
  }
})
