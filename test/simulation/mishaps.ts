import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../devnet/evm/random.ts'
import { placeOf } from './place.ts'
import type { ServiceProcess } from './service-process.ts'
import type { Stage } from './stage.ts'
import { add, type Tally } from './tally.ts'

/** One disturbance of processes, disks or clocks. It is over, except for its consequences, when it resolves. */
export interface Mishap {
  name: string
  /** Relative frequency. */
  weight: number
  bring: (stage: Stage, random: Random, options: MishapOptions) => Promise<void>
  /** True when this machine and this stage support it; missing: always. */
  isPossible?: (stage: Stage) => boolean
}

export interface MishapOptions {
  /** Receives each kill with its place. */
  kills: Tally
  /** True when there is time for the longest freeze. */
  isLong: boolean
}

const MOST_FROZEN_MS = 8_000
/** Longer than each lease and lock of ours and of the queue. */
const LONGEST_FREEZE_MS = 35_000
const LEAST_STEP_S = 60
const LARGEST_STEP_S = 86_400
/** The library reads the clock's setting once a second. */
const CLOCK_IS_SEEN_MS = 1_200

const hasRedis = ({ redis }: Stage): boolean => redis !== undefined
const hasClocks = ({ database }: Stage): boolean => database.clock !== undefined

export const MISHAPS: readonly Mishap[] = [
  { name: 'SIGKILL of an indexer', weight: 4, bring: killIndexer },
  { name: 'SIGKILL of both indexers', weight: 1, bring: killIndexers },
  {
    ...{ name: 'SIGKILL of the API', weight: 1 },
    bring: (stage, _, { kills }) => killAndTell(stage, stage.api, kills),
  },
  { name: 'SIGKILL of a database backend', weight: 2, bring: killBackend },
  { name: 'SIGKILL of the database server', weight: 1, bring: killServer },
  {
    ...{ name: 'database sessions ended', weight: 2 },
    bring: ({ database }) => database.endSessions('loan-activity%').then(nothing),
  },
  { name: 'SIGKILL of Redis', weight: 2, bring: loseRedis, isPossible: hasRedis },
  { name: 'an indexer frozen', weight: 1, bring: freezeIndexer },
  { name: 'an indexer frozen, its lock lost meanwhile', weight: 2, bring: freezeAndUnlock },
  { name: 'the API frozen', weight: 1, bring: freezeApi },
  { name: 'the database server frozen', weight: 1, bring: freezeDatabase },
  { name: 'Redis frozen', weight: 1, bring: freezeRedis, isPossible: hasRedis },
  {
    ...{ name: 'the disk of the database full', weight: 1 },
    bring: ({ database }, random) => database.fillDisk(random.int(1000, 5000)),
    isPossible: ({ database }) => database.hasSmallDisk,
  },
  { name: 'the clock of an indexer steps', weight: 1, bring: stepOf('indexer'), isPossible: hasClocks },
  { name: 'the clock of the API steps', weight: 1, bring: stepOf('api'), isPossible: hasClocks },
  { name: 'the clock of the database steps', weight: 1, bring: stepOf('database'), isPossible: hasClocks },
  { name: 'the clocks of all step', weight: 1, bring: stepOf('all'), isPossible: hasClocks },
]

/** Returns the reasons for kinds that are impossible here, for the report. */
export function leftOut(stage: Stage): string[] {
  return [
    ...(hasClocks(stage) ? [] : ['no clock steps: the Debian package `faketime` is not installed']),
    ...(stage.database.hasSmallDisk ? [] : ['no full disk: mounting one is not allowed here']),
  ]
}

function killIndexer(stage: Stage, random: Random, { kills }: MishapOptions): Promise<void> {
  return killAndTell(stage, random.pick(stage.indexers), kills)
}

async function killIndexers(stage: Stage, _: Random, { kills }: MishapOptions): Promise<void> {
  await Promise.all(stage.indexers.map((indexer) => killAndTell(stage, indexer, kills)))
}

/** Stops the process, looks up its activity, then kills it at that place. */
async function killAndTell({ database }: Stage, program: ServiceProcess, kills: Tally): Promise<void> {
  program.freeze()
  const { pid } = program
  const place = pid === undefined ? 'not started' : await placeOf(pid, database.url)
  program.kill()
  add(kills, `${program.kind} ${place}`)
}

async function killBackend({ database }: Stage, random: Random, { kills }: MishapOptions): Promise<void> {
  add(kills, `backend of ${await database.killBackend(random)}`)
}

async function killServer({ database }: Stage, _: Random, { kills }: MishapOptions): Promise<void> {
  await database.killServer()
  add(kills, 'database server')
}

async function loseRedis({ redis }: Stage, random: Random, { kills }: MishapOptions): Promise<void> {
  await redis?.kill()
  add(kills, 'Redis')
  await sleep(random.int(0, 1500))
  await redis?.start()
}

async function freezeIndexer({ indexers }: Stage, random: Random, { isLong }: MishapOptions): Promise<void> {
  const frozen = random.pick(indexers)
  frozen.freeze()
  await sleep(isLong && random.chance(0.5) ? LONGEST_FREEZE_MS : random.int(1000, MOST_FROZEN_MS))
  frozen.thaw()
}

/** Another process leads before this one wakes up in the belief that it leads. */
async function freezeAndUnlock({ indexers, database }: Stage, random: Random): Promise<void> {
  const frozen = random.pick(indexers)
  frozen.freeze()
  await sleep(200)
  await database.endSessions('loan-activity lock%')
  await sleep(random.int(1500, MOST_FROZEN_MS))
  frozen.thaw()
}

async function freezeApi({ api }: Stage, random: Random): Promise<void> {
  api.freeze()
  await sleep(random.int(1000, MOST_FROZEN_MS))
  api.thaw()
}

function freezeDatabase({ database }: Stage, random: Random): Promise<void> {
  return database.freeze(random.int(500, MOST_FROZEN_MS))
}

async function freezeRedis({ redis }: Stage, random: Random): Promise<void> {
  redis?.freeze()
  await sleep(random.int(500, MOST_FROZEN_MS))
  redis?.thaw()
}

/** Steps a clock by a minute up to a day, ahead or back; its effect stays until the next step. */
function stepOf(whose: 'indexer' | 'api' | 'database' | 'all') {
  return async ({ indexers, api, database }: Stage, random: Random): Promise<void> => {
    const clocks = {
      ...{ indexer: [random.pick(indexers).clock], api: [api.clock], database: [database.clock] },
      all: [...indexers.map(({ clock }) => clock), api.clock, database.clock],
    }[whose]
    const size = LEAST_STEP_S * (LARGEST_STEP_S / LEAST_STEP_S) ** (random.int(0, 1000) / 1000)
    const aheadS = random.chance(0.2) ? 0 : Math.round(random.chance(0.5) ? size : -size)
    for (const clock of clocks) clock?.set(aheadS)
    await sleep(CLOCK_IS_SEEN_MS)
  }
}

/**
 * The last step sets the database's clock right. Postgres counts its time-outs by the wall clock, and the preloaded
 * library shows the true time to a process that a signal wakes. A clock that stays behind therefore ends idle sessions
 * at random.
 */
export async function rightDatabaseClock({ database: { clock } }: Stage): Promise<void> {
  clock?.set(0)
  await sleep(CLOCK_IS_SEEN_MS)
}

function nothing(): void {
  // The result does not matter.
}
