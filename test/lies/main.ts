import { parseArgs } from 'node:util'
import { createRandom } from '../../devnet/evm/random.ts'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { evmBackfill } from './evm-backfill.ts'
import { evmBlocks } from './evm-blocks.ts'
import { evmState } from './evm-state.ts'
import { filecoin } from './filecoin.ts'
import { countLies, tableOf, type LieCounts } from './lie-kind.ts'

const GROUPS = [evmBlocks, evmBackfill, evmState, filecoin]

const HELP = `Usage: npm run lies -- [flags]

One endpoint tells lies that only a proof can show, over HTTP, and the service reads it as it reads any endpoint. Prints a
table: how many lies of each kind were refused, found by a later proof, or believed.

  --lies <n>     of each kind (1000)
  --of <group>   one of those below; may be repeated (all)
  --kind <text>  only kinds whose name has this text
  --seed <n>     of all choices (the time of day, when missing)
  --json         prints the counts as JSON
  --help

Groups:
${GROUPS.map(({ name, about }) => `  ${name.padEnd(14)} ${about}`).join('\n')}

Exit codes: 0 none was accepted as proven, 1 one was, 2 a flag is wrong.`

await runProgram('lies', HELP, async () => {
  const { lies, groups, kind, seed, json } = flags()
  onStopRequest(() => process.exit(130))
  const counts: LieCounts[] = []
  for (const group of groups) {
    const ends: (() => unknown)[] = []
    try {
      const kinds = await group.begin({ teardown: (end: () => unknown) => void ends.unshift(end) }, seed)
      for (const one of kinds.filter(({ name }) => name.includes(kind))) {
        const counted = await countLies(
          group.name,
          one,
          lies,
          createRandom(`${seed}/${group.name}/${one.name}`),
        )
        console.error(JSON.stringify(counted))
        counts.push(counted)
      }
    } finally {
      for (const end of ends) await end()
    }
  }
  console.log(json ? JSON.stringify({ seed, counts }) : tableOf(counts))
  const accepted = counts.filter(({ outcomes }) => outcomes.accepted > 0)
  if (accepted.length > 0)
    throw new Error(`accepted: ${accepted.map((one) => one.kind).join('; ')} (seed ${seed})`)
})

function flags() {
  try {
    const { values } = parseArgs({
      options: {
        lies: { type: 'string', default: '1000' },
        of: { type: 'string', multiple: true, default: GROUPS.map(({ name }) => name) },
        kind: { type: 'string', default: '' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        json: { type: 'boolean', default: false },
      },
    })
    const lies = Number(values.lies)
    if (!Number.isSafeInteger(lies) || lies < 1)
      throw new ConfigError(`--lies ${values.lies} is no number of lies`)
    const groups = values.of.map((name) => {
      const group = GROUPS.find((known) => known.name === name)
      if (group === undefined) throw new ConfigError(`--of ${name} is no group`)
      return group
    })
    return { ...values, lies, groups }
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError(messageOf(error))
  }
}
