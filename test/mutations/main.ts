import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { markdownTable } from '../helpers/markdown-table.ts'
import { MUTATIONS, PROMISES, type Check, type Mutation } from './mutations.ts'
import { openWorkshop, type Workshop } from './workshop.ts'

const HELP = `Usage: npm run mutate -- [flags]

Breaks promises of the service on purpose, one at a time and in a copy of this checkout, and runs the tests and the
simulations that must notice. A check that passes on broken code, or fails on whole code, is told as wrong.

  --promise <n>   only this one; may be repeated
  --tests         only the checks that are tests, which take seconds; simulations take minutes
  --list          tells the mutations and breaks nothing
  --help

Exit codes: 0 every mutation was noticed, 1 one was not, 2 a flag is wrong.`

await runProgram('mutate', HELP, async () => {
  const { promises, onlyTests, list } = flags()
  const chosen = MUTATIONS.filter(({ promise }) => promises.length === 0 || promises.includes(promise))
  if (list) {
    for (const { promise, what, file } of chosen) {
      console.log(`promise ${promise}, ${PROMISES[promise]}, is broken: ${what} (${file})`)
    }
    return
  }
  const workshop = openWorkshop()
  onStopRequest(() => void workshop.close().finally(() => process.exit(130)))
  try {
    await tryAll(workshop, chosen, onlyTests)
  } finally {
    await workshop.close()
  }
})

async function tryAll(workshop: Workshop, mutations: readonly Mutation[], onlyTests: boolean): Promise<void> {
  const wanted = (check: Check): boolean => !onlyTests || 'test' in check
  if (!mutations.some(({ noticedBy }) => noticedBy.some(wanted))) {
    throw new ConfigError('no test notices that, only simulations do: leave --tests out')
  }
  const rows: string[][] = []
  const wrong: string[] = []
  const whole = new Map<string, boolean>()
  for (const mutation of mutations) {
    for (const check of mutation.noticedBy.filter(wanted)) {
      const name = nameOf(check)
      // A check that already fails detects nothing.
      const holds = whole.get(name) ?? (await workshop.run(check)).passed
      whole.set(name, holds)
      const { passed, complaint } = await workshop.broken(mutation, () => workshop.run(check))
      const verdict = holds ? (passed ? 'NOT NOTICED' : complaint) : 'FAILS ON WHOLE CODE, TOO'
      if (!holds || passed) wrong.push(`${mutation.what} (${name})`)
      rows.push([`${mutation.promise}`, mutation.what, name, verdict])
      console.error(`promise ${mutation.promise}: ${mutation.what}: ${name}: ${verdict}`)
    }
  }
  console.log(markdownTable(['promise', 'broken so that', 'noticed by', 'in these words'], rows))
  if (wrong.length > 0) throw new Error(`not noticed: ${wrong.join('; ')}`)
}

function nameOf(check: Check): string {
  if ('test' in check) return check.test
  if ('seed' in check) return `simulation, seed "${check.seed}", ${check.minutes} min`
  return `soak, ${check.soakMinutes} min`
}

function flags() {
  try {
    const { values } = parseArgs({
      strict: true,
      options: {
        promise: { type: 'string', multiple: true, default: [] },
        tests: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
      },
    })
    const unknown = values.promise.find((promise) => !Object.hasOwn(PROMISES, promise))
    if (unknown !== undefined)
      throw new ConfigError(`--promise is one of ${Object.keys(PROMISES).join(', ')}, not ${unknown}`)
    return { promises: values.promise.map(Number), onlyTests: values.tests, list: values.list }
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}
