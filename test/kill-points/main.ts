import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { onStopRequest, runProgram } from '../../shared/program.ts'
import { hasRedisServer } from '../helpers/start-services.ts'
import { casesOf, tryCases, type Case, type Verdict } from './cases.ts'
import { prepareGround, type Ground, type QueueKind } from './ground.ts'
import type { PointCount } from './kill-order.ts'
import { chunks, inLanes } from './lanes.ts'
import { makeReference } from './reference.ts'

const HELP = `Usage: npm run kill-points -- [flags]

Every statement that the indexer sends to Postgres and every command that it sends to Redis, each made the last thing
that it does: it dies by SIGKILL before it is sent, and (another time) when it was carried out but nobody has seen the
answer. It is started again, sees more of both chains, and everything is examined: the log against the chains, the read
model against an undisturbed one and against a replay, queues, locks and connections.

  --queue <postgres|redis>  only this set-up (both)
  --point <number|id>       only this point; may be repeated
  --list                    tells the points and kills nobody
  --seed <text>             of the loans (c)
  --together <n>            so many deaths, one after the other, on one index before it is examined (8). Where something
                            is wrong each is tried again on an index of its own, and where a point was not reached on
                            up to 5: which statements are sent is also a matter of time
  --lanes <n>               so many cases side by side (2)
  --help

Exit codes: 0 all held, 1 something did not (where the programs' output is, is told), 2 a flag is wrong.`

/**
 * Each attempt has a new index. Blocks read together are written together, so some statements occur only where one
 * chain was read slightly earlier than the other.
 */
const TRIES_TO_REACH = 5

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

async function tryAll(ground: Ground, queue: QueueKind, flags: Flags): Promise<number> {
  const { chosen, isList, lanes, together } = flags
  const reference = await makeReference(ground, queue)
  const numbers = new Map(reference.points.map(({ id }, index) => [id, String(index + 1)]))
  const points = reference.points.filter(
    ({ id }) => chosen.length === 0 || chosen.includes(id) || chosen.includes(numbers.get(id) ?? ''),
  )
  const names = new Map(points.map((point) => [point.id, nameOf(numbers.get(point.id) ?? '', point)]))
  console.log(`\nqueue on ${queue}: ${reference.points.length} points`)
  if (isList) {
    for (const { id, count } of points) console.log(`${names.get(id) ?? ''} (${count} times)`)
    return 0
  }
  let kills = 0
  const wrong: Case[] = []
  const tell = (one: Case, result: string): void =>
    console.log(`${names.get(one.point) ?? ''} | ${one.moment} | ${result}`)
  const attempt = async (cases: Case[], tries = TRIES_TO_REACH): Promise<void> => {
    const verdict = await tryCases(ground, queue, cases, reference.content)
    const isAlone = cases.length === 1
    if (verdict.complaints.length > 0 && !isAlone) return eachAlone(cases)
    const [first] = cases
    if (verdict.complaints.length > 0 && first !== undefined) {
      wrong.push(first)
      keepOutput(`${queue}-${first.point}-${first.moment}`, verdict)
      tell(first, resultOf(verdict))
      return
    }
    for (const one of cases.filter((candidate) => !verdict.missed.includes(candidate))) {
      kills += 1
      tell(one, resultOf(verdict))
    }
    if (!isAlone) return eachAlone(verdict.missed)
    if (verdict.missed.length > 0 && tries > 1) return attempt(cases, tries - 1)
    for (const one of verdict.missed) tell(one, 'NOT REACHED')
    wrong.push(...verdict.missed)
  }
  const eachAlone = async (cases: Case[]): Promise<void> => {
    for (const one of cases) await attempt([one])
  }
  await inLanes(chunks(casesOf(points), together), lanes, attempt)
  console.log(`queue on ${queue}: ${points.length} points, ${kills} kills, ${wrong.length} went wrong`)
  return wrong.length
}

function nameOf(number: string, { id, context, what }: PointCount): string {
  return `${number.padStart(3)} ${id} | ${context} | ${what.length > 70 ? `${what.slice(0, 69)}…` : what}`
}

function resultOf({ complaints, recoveredMs }: Verdict): string {
  if (complaints.length > 0) return `WRONG: ${complaints.join('; ').slice(0, 300)}`
  return recoveredMs === null ? 'held' : `held, at the head after ${(recoveredMs / 1000).toFixed(1)} s`
}

function keepOutput(title: string, { complaints, output }: Verdict): void {
  const file = join(tmpdir(), `loan-activity-kill-point-${title}.log`)
  writeFileSync(file, `${complaints.join('\n')}\n\n${output}`)
  console.log(`    ${file}`)
}

function readFlags() {
  const { queue, point = [], list, seed, lanes, together } = parse()
  const has = hasRedisServer()
  if (queue !== undefined && queue !== 'postgres' && queue !== 'redis')
    throw new ConfigError('--queue is postgres or redis')
  if (queue === 'redis' && !has) throw new ConfigError('redis-server is not on PATH')
  for (const [name, text] of Object.entries({ lanes, together }))
    if (!/^[1-9]\d?$/.test(text)) throw new ConfigError(`--${name} must be a whole number from 1 to 99`)
  if (queue === undefined && !has)
    console.log('redis-server is not on PATH: only the queue on Postgres is tried')
  const queues: QueueKind[] = queue === undefined ? (has ? ['postgres', 'redis'] : ['postgres']) : [queue]
  return { queues, chosen: point, isList: list, seed, lanes: Number(lanes), together: Number(together) }
}

function parse() {
  try {
    return parseArgs({
      strict: true,
      options: {
        queue: { type: 'string' },
        point: { type: 'string', multiple: true },
        list: { type: 'boolean', default: false },
        seed: { type: 'string', default: 'c' },
        lanes: { type: 'string', default: '2' },
        together: { type: 'string', default: '8' },
      },
    }).values
  } catch (error) {
    throw new ConfigError(messageOf(error))
  }
}
