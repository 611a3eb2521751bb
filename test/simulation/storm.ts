import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { MISHAPS, rightDatabaseClock } from './mishaps.ts'
import type { Stage } from './stage.ts'
import { add, type Toll } from './tally.ts'

const LOANS_AT_ONCE = 6
const DEEPEST = { filecoin: 10, evm: 20 }

/** Plays loans on both chains until the signal, with reorgs between the blocks. */
export async function playWithReorgs(stage: Stage, signal: AbortSignal, toll: Toll): Promise<void> {
  const random = createRandom(`${stage.seed}/reorgs`)
  const rpc = createRpc(stage.anvil.url)
  const between = async (): Promise<void> => {
    if (signal.aborted) return
    await sleep(random.int(0, 80))
    if (random.chance(0.06)) {
      const depth = random.int(1, DEEPEST.filecoin)
      stage.lotus.chain.reorg(depth, {
        ...{ reorder: random.chance(0.5), drop: random.int(0, 50) / 100, fail: random.chance(0.3) ? 0.1 : 0 },
      })
      add(toll.reorgs, `Filecoin ${depth}`)
    }
    if (random.chance(0.06)) {
      const depth = random.int(1, DEEPEST.evm)
      await rpc.call(anything, 'anvil_reorg', depth, [])
      add(toll.reorgs, `EVM ${depth}`)
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

/** Brings one mishap after the other until the signal; each is over (except for its consequences) before the next. */
export async function bringMishaps(
  stage: Stage,
  signal: AbortSignal,
  toll: Toll,
  isLong: boolean,
): Promise<void> {
  const random = createRandom(`${stage.seed}/mishaps`)
  const choices = MISHAPS.flatMap((mishap) => Array.from({ length: mishap.weight }, () => mishap)).filter(
    ({ isPossible }) => isPossible?.(stage) ?? true,
  )
  // The service hardly recovers in some simulations; in others it works for long between two mishaps.
  const longestPauseMs = random.pick([3_000, 6_000, 12_000])
  for (;;) {
    await pause(random.int(500, longestPauseMs), signal)
    if (signal.aborted) break
    const { name, bring } = random.pick(choices)
    await bring(stage, random, { kills: toll.kills, isLong })
    add(toll.mishaps, name)
  }
  await rightDatabaseClock(stage)
}

function nothing(): void {
  // The signal ended the wait.
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(nothing)
}
