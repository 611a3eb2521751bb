import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import type { Stage } from './stage.ts'

/** What happened, by name. */
export type Tally = Map<string, number>

export function add(tally: Tally, what: string, times = 1): void {
  tally.set(what, (tally.get(what) ?? 0) + times)
}

const LOANS_AT_ONCE = 6
const DEEPEST = { filecoin: 10, evm: 20 }
const MOST_FROZEN_MS = 8_000
const LONGEST_FREEZE_MS = 35_000

/** Loans are played on both chains until the signal, with reorgs between the blocks. */
export async function playWithReorgs(stage: Stage, signal: AbortSignal, tally: Tally): Promise<void> {
  const random = createRandom(`${stage.seed}/reorgs`)
  const rpc = createRpc(stage.anvil.url)
  const between = async (): Promise<void> => {
    await sleep(random.int(0, 80))
    if (signal.aborted) return
    if (random.chance(0.06)) {
      const depth = random.int(1, DEEPEST.filecoin)
      stage.lotus.chain.reorg(depth, {
        ...{ reorder: random.chance(0.5), drop: random.int(0, 50) / 100, fail: random.chance(0.3) ? 0.1 : 0 },
      })
      add(tally, `Filecoin reorg of ${depth}`)
    }
    if (random.chance(0.06)) {
      const depth = random.int(1, DEEPEST.evm)
      await rpc.call(anything, 'anvil_reorg', depth, [])
      add(tally, `EVM reorg of ${depth}`)
    }
  }
  while (!signal.aborted) await stage.player.playLoans(LOANS_AT_ONCE, { between })
}

export async function changeWeather(stage: Stage, signal: AbortSignal): Promise<void> {
  const random = createRandom(`${stage.seed}/weather`)
  while (!signal.aborted) {
    for (const weather of stage.weathers) if (random.chance(0.7)) weather.change()
    await pause(random.int(1500, 4000), signal)
  }
  for (const weather of stage.weathers) weather.clear()
}

type Mishap = (stage: Stage, random: Random, isLong: boolean) => Promise<void>

const MISHAPS: readonly [name: string, weight: number, mishap: Mishap][] = [
  ['SIGKILL of an indexer', 4, (stage, random) => done(() => random.pick(stage.indexers).kill())],
  ['SIGKILL of both indexers', 1, ({ indexers }) => done(() => indexers.forEach((one) => one.kill()))],
  ['SIGKILL of the API', 1, ({ api }) => done(() => api.kill())],
  ['SIGKILL of a database backend', 2, ({ database }, random) => database.killBackend(random)],
  ['SIGKILL of the database server', 1, ({ database }) => database.killServer()],
  ['database sessions ended', 2, ({ database }) => database.endSessions('loan-activity%').then(nothing)],
  ['SIGKILL of Redis', 2, loseRedis],
  ['an indexer frozen', 1, freeze],
  ['an indexer frozen, its lock lost meanwhile', 2, freezeAndUnlock],
]

/** One mishap after the other until the signal; each is over (but for its consequences) before the next. */
export async function bringMishaps(
  stage: Stage,
  signal: AbortSignal,
  tally: Tally,
  isLong: boolean,
): Promise<void> {
  const random = createRandom(`${stage.seed}/mishaps`)
  const choices = MISHAPS.flatMap(([name, weight, mishap]) =>
    Array.from({ length: weight }, () => ({ name, mishap })),
  ).filter(({ name }) => stage.redis !== undefined || name !== 'SIGKILL of Redis')
  // In some simulations the service hardly comes to its senses, in others it gets far between two mishaps.
  const longestPauseMs = random.pick([3_000, 6_000, 12_000])
  for (;;) {
    await pause(random.int(500, longestPauseMs), signal)
    if (signal.aborted) return
    const { name, mishap } = random.pick(choices)
    await mishap(stage, random, isLong)
    add(tally, name)
  }
}

async function loseRedis({ redis }: Stage, random: Random): Promise<void> {
  await redis?.kill()
  await sleep(random.int(0, 1500))
  await redis?.start()
}

/** Long enough for every lease and lock of the queue to end, where the simulation is long. */
async function freeze({ indexers }: Stage, random: Random, isLong: boolean): Promise<void> {
  const frozen = random.pick(indexers)
  frozen.freeze()
  await sleep(isLong ? LONGEST_FREEZE_MS : random.int(1000, MOST_FROZEN_MS))
  frozen.thaw()
}

/** Somebody else leads before it wakes up and believes that it leads. */
async function freezeAndUnlock({ indexers, database }: Stage, random: Random): Promise<void> {
  const frozen = random.pick(indexers)
  frozen.freeze()
  await sleep(200)
  await database.endSessions('loan-activity lock%')
  await sleep(random.int(1500, MOST_FROZEN_MS))
  frozen.thaw()
}

async function done(work: () => void): Promise<void> {
  work()
  await Promise.resolve()
}

function nothing(): void {
  // The answer is not of interest.
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(nothing)
}
