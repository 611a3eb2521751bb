import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { messageOf } from '../../shared/errors.ts'
import { MISHAPS } from './mishaps.ts'
import type { Stage } from './stage.ts'
import { add, type Tally } from './tally.ts'

/** The activity during a soak, until the signal. */

/** Ten times the two transactions a second of the lively devnet, as far as the nodes can follow. */
const EVENTS_PER_S = 20
const LOANS_AT_ONCE = 20
const BETWEEN_REQUESTS_MS = 50
/** Milliseconds: duration and interval of node faults, then the interval of process mishaps. */
const FAULT_MS = 5_000
const FAULT_EVERY_MS = 60_000
const MISHAP_EVERY_MS = 240_000
const REORG_CHANCE = 0.002
const DEEPEST = 5
const LIGHT = [
  'database sessions ended',
  'the database server frozen',
  'an indexer frozen, its lock lost meanwhile',
]

/** Plays at the pace, as far as the nodes can follow. */
export async function playAtPace(
  { seed, anvil, lotus, player }: Stage,
  signal: AbortSignal,
  happened: Tally,
): Promise<void> {
  const random = createRandom(`${seed}/soak`)
  const rpc = createRpc(anvil.url)
  const beganMs = performance.now()
  let events = 0
  const between = async (): Promise<void> => {
    add(happened, 'rounds of the player')
    add(happened, 'contract events', player.diary.length - events)
    events = player.diary.length
    if (signal.aborted) return
    if (random.chance(REORG_CHANCE)) {
      lotus.chain.reorg(random.int(1, DEEPEST), { reorder: true, drop: 0, fail: 0 })
      add(happened, 'Filecoin reorgs')
    }
    if (random.chance(REORG_CHANCE)) {
      await rpc.call(anything, 'anvil_reorg', random.int(1, DEEPEST), [])
      add(happened, 'EVM reorgs')
    }
    await pause(Math.max(0, beganMs + (events / EVENTS_PER_S) * 1000 - performance.now()), signal)
  }
  while (!signal.aborted) await player.playLoans(LOANS_AT_ONCE * 10, { loansAtOnce: LOANS_AT_ONCE, between })
}

/** One node at a time has a few faults for a while. */
export async function bringLightFaults({ seed, weathers }: Stage, signal: AbortSignal): Promise<void> {
  const random = createRandom(`${seed}/light faults`)
  for (;;) {
    await pause(FAULT_EVERY_MS, signal)
    if (signal.aborted) return
    const weather = random.pick(weathers)
    weather.change()
    await pause(FAULT_MS, signal)
    weather.clear()
  }
}

/** Brings only mishaps that keep all processes alive, because their resources are measured. */
export async function bringLightMishaps(stage: Stage, signal: AbortSignal, happened: Tally): Promise<void> {
  const random = createRandom(`${stage.seed}/light mishaps`)
  const choices = MISHAPS.filter(({ name }) => LIGHT.includes(name))
  for (;;) {
    await pause(MISHAP_EVERY_MS, signal)
    if (signal.aborted) return
    const { name, bring } = random.pick(choices)
    await bring(stage, random, { kills: new Map(), isLong: false })
    add(happened, name)
  }
}

/** Requests pages and loans, one after the other. */
export async function ask({ seed, apiUrl }: Stage, signal: AbortSignal, happened: Tally): Promise<void> {
  const random = createRandom(`${seed}/asking`)
  let pages = 1
  while (!signal.aborted) {
    const path = random.pick([
      `activity/history/${random.int(1, pages)}`,
      `loan/ERC20/${random.int(1, 500)}`,
      `loan/FIL/${random.int(1, 500)}`,
    ])
    try {
      const response = await fetch(`${apiUrl}/api/${path}`, { signal: AbortSignal.timeout(20_000) })
      add(happened, `answers ${response.status}`)
      const answer = (await response.json()) as { pages?: number }
      pages = answer.pages ?? pages
    } catch (error) {
      add(happened, `no answer: ${messageOf(error)}`)
    }
    await pause(BETWEEN_REQUESTS_MS, signal)
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => undefined)
}
