import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runNpm } from '../helpers/programs.ts'
import { hasRedisServer } from '../helpers/start-services.ts'
import { casesOf, tryCases } from '../kill-points/cases.ts'
import { prepareGround } from '../kill-points/ground.ts'
import { makeReference } from '../kill-points/reference.ts'

/** A few of the points of `npm run kill-points`, spread over all of them. */

t.setTimeout(1_800_000)

const POINTS = 5
const TRIES = 3
/** The `begin` of a step's transaction, as the command names it. */
const BEGIN = '1cb48a73'

void t.test('an indexer that dies at any statement or command leaves nothing half done', async (t) => {
  const ground = await prepareGround('npm test', null)
  t.teardown(() => ground.stop())
  for (const queue of ['postgres', ...(hasRedisServer() ? (['redis'] as const) : [])] as const) {
    const reference = await makeReference(ground, queue)
    t.ok(reference.points.length > 20, `${reference.points.length} points with the queue on ${queue}`)
    // What a writer does to a step is done again after each death; at other points one may not come by again.
    const writers = reference.points.filter(({ context }) => context.includes(' job blocks'))
    const every = Math.floor(writers.length / POINTS)
    const chosen = writers.filter((_, index) => index % every === 1).slice(0, POINTS)
    const cases = casesOf(chosen)
    // What did not come by on a busy machine is tried again, by itself.
    let missed = cases
    for (let tries = 0; tries < TRIES && missed.length > cases.length / 2; tries += 1) {
      const verdict = await tryCases(ground, queue, missed, reference.content)
      t.same(
        verdict.complaints,
        [],
        `deaths ${missed.map(({ point, moment }) => `${moment} ${point}`).join(', ')}`,
      )
      if (verdict.complaints.length > 0) t.comment(verdict.output)
      missed = verdict.missed
    }
    t.ok(missed.length <= cases.length / 2, `${cases.length - missed.length} deaths`)
  }
})

void t.test('the command tries a point that is named, and says what came of it', async (t) => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const args = ['kill-points', '--', '--queue', 'postgres', '--point', BEGIN, '--lanes', '1']
  const program = runNpm(root, args, {})
  t.teardown(() => program.signal('SIGKILL'))
  const { code } = await program.ended
  t.equal(code, 0, program.stderr())
  t.match(program.stdout(), new RegExp(`${BEGIN} .+ before . held`))
  t.match(program.stdout(), new RegExp(`${BEGIN} .+ after . held`))
})
