import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { hasRedisServer } from '../helpers/start-services.ts'
import { casesOf, inLanes, tryReachable } from './cases.ts'
import { prepareGround, type Ground, type QueueKind } from './ground.ts'
import type { PointCount } from './kill-order.ts'
import { makeReference, type Reference } from './reference.ts'
import type { Verdict } from './try-case.ts'

const HELP = `Usage: npm run kill-points -- [flags]

Every statement that the indexer sends to Postgres and every command that it sends to Redis, each made the last thing
that it does: it dies by SIGKILL before it is sent, and (another time) when it was carried out but nobody has seen the
answer. It is started again, sees more of both chains, and everything is examined: the log against the chains, the read
model against an undisturbed one and against a replay, queues, locks and connections.

  --queue <postgres|redis>  only this set-up (both)
  --point <number|id>       only this point; may be repeated
  --list                    tells the points and kills nobody
  --seed <text>             of the choice between the times that a point is passed, and of the loans (kill points)
  --lanes <n>               so many cases side by side (2)
  --help

Exit codes: 0 all held, 1 something did not (where the programs' output is, is told), 2 a flag is wrong.`

await runProgram('kill-points', HELP, async () => {
  const flags = readFlags()
  const ground = await prepareGround(flags.seed, null)
  onStopRequest(() => void ground.stop().finally(() => process.exit(130)))
  try {
    let failures = 0
    for (const queue of flags.queues) failures += await tryAll(ground, queue, flags)
    if (failures > 0) throw new Error(`${failures} cases went wrong`)
  } finally {
    await ground.stop()
  }
})

type Flags = ReturnType<typeof readFlags>

async function tryAll(
  ground: Ground,
  queue: QueueKind,
  { chosen, isList, lanes, seed }: Flags,
): Promise<number> {
  const reference: Reference = await makeReference(ground, queue)
  const numbered = reference.points.map((point, index) => ({ point, number: index + 1 }))
  const points = numbered.filter(
    ({ point, number }) =>
      chosen.length === 0 || chosen.includes(point.id) || chosen.includes(String(number)),
  )
  console.log(`\nqueue on ${queue}: ${reference.points.length} points`)
  if (isList) {
    for (const { point, number } of points) console.log(`${name(number, point)} (${point.count} times)`)
    return 0
  }
  const cases = points.flatMap(({ point, number }) =>
    casesOf(point, queue, seed).map((one) => ({ one, point, number })),
  )
  const verdicts: Verdict[] = []
  await inLanes(cases, lanes, async ({ one, point, number }) => {
    const verdict = await tryReachable(ground, one, reference.content)
    verdicts.push(verdict)
    const took = `${(verdict.tookMs / 1000).toFixed(1)} s`
    console.log(`${name(number, point)} | ${one.moment} | ${resultOf(verdict)} | ${took}`)
    if (verdict.complaints.length > 0) keepOutput(`${queue}-${point.id}-${one.moment}`, verdict)
  })
  const failed = verdicts.filter(({ complaints }) => complaints.length > 0).length
  console.log(`queue on ${queue}: ${points.length} points, ${verdicts.length} kills, ${failed} went wrong`)
  return failed
}

function name(number: number, { id, context, what }: PointCount): string {
  return `${String(number).padStart(3)} ${id} | ${context} | ${what.length > 70 ? `${what.slice(0, 69)}…` : what}`
}

function resultOf({ complaints, recoveredMs }: Verdict): string {
  if (complaints.length > 0) return `WRONG: ${complaints.join('; ').slice(0, 300)}`
  return recoveredMs === null ? 'held' : `held, up to date after ${(recoveredMs / 1000).toFixed(1)} s`
}

function keepOutput(title: string, { complaints, output }: Verdict): void {
  const file = join(tmpdir(), `loan-activity-kill-point-${title}.log`)
  writeFileSync(file, `${complaints.join('\n')}\n\n${output}`)
  console.log(`    ${file}`)
}

function readFlags() {
  const { queue, point = [], list, seed, lanes } = parse()
  const has = hasRedisServer()
  if (queue !== undefined && queue !== 'postgres' && queue !== 'redis')
    throw new ConfigError('--queue is postgres or redis')
  if (queue === 'redis' && !has) throw new ConfigError('redis-server is not on PATH')
  if (!/^[1-9]\d?$/.test(lanes)) throw new ConfigError('--lanes must be a whole number from 1 on')
  if (queue === undefined && !has)
    console.log('redis-server is not on PATH: only the queue on Postgres is tried')
  const queues: QueueKind[] = queue === undefined ? (has ? ['postgres', 'redis'] : ['postgres']) : [queue]
  return { queues, chosen: point, isList: list, seed, lanes: Number(lanes) }
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        queue: { type: 'string' },
        point: { type: 'string', multiple: true },
        list: { type: 'boolean', default: false },
        seed: { type: 'string', default: 'kill points' },
        lanes: { type: 'string', default: '2' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}
