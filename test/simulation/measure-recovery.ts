import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../../devnet/evm/random.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'
import { MISHAPS } from './mishaps.ts'
import { untilUpToDate, type Recovery } from './recovery.ts'
import { setStage, type Stage } from './stage.ts'

export interface RecoveryOptions {
  seed: string
  /** Number of trials of each kind. */
  runs: number
  hasRedis: boolean
  isBuilt: boolean
  onLine: (line: string) => void
}

const FAULT_MS = 3_000
const LOANS_AT_ONCE = 4
const BETWEEN_BLOCKS_MS = 150
const PATIENCE_MS = 120_000
const NOTHING = 'nothing at all'

/**
 * Brings one kind of fault or mishap at a time while nothing else goes wrong and both chains continue. Measures the
 * time from its end until the service is up to date; a trial without recovery has no seconds. The first kind is no
 * fault at all: the time until a block becomes visible.
 */
export async function measureRecovery(options: RecoveryOptions): Promise<Recovery[]> {
  const { seed, hasRedis, isBuilt } = options
  const stage = await setStage({ seed, hasRedis, isBuilt, endpoints: 2 })
  const playing = new AbortController()
  try {
    options.onLine(`seed ${seed}: ${stage.setUp}`)
    await createRpc(stage.anvil.url).call(anything, 'anvil_mine', '0x64')
    for (const program of [...stage.indexers, stage.api]) program.start()
    const played = play(stage, playing.signal)
    const recoveries = await measureAll(stage, options)
    playing.abort()
    await played
    return recoveries
  } finally {
    playing.abort()
    await stage.stop()
  }
}

async function play({ player }: Stage, signal: AbortSignal): Promise<void> {
  const between = (): Promise<void> => sleep(signal.aborted ? 0 : BETWEEN_BLOCKS_MS)
  while (!signal.aborted) await player.playLoans(LOANS_AT_ONCE, { between })
}

interface Trial {
  name: string
  bring: () => Promise<void>
}

async function measureAll(stage: Stage, { seed, runs, onLine }: RecoveryOptions): Promise<Recovery[]> {
  const trials = [
    { name: NOTHING, bring: () => sleep(FAULT_MS) },
    ...mishapTrials(stage, createRandom(`${seed}/recovery`)),
    ...faultTrials(stage),
  ]
  await untilUpToDate(stage, AbortSignal.timeout(PATIENCE_MS))
  const recoveries: Recovery[] = []
  for (let run = 1; run <= runs; run += 1) {
    for (const { name, bring } of trials) {
      await bring()
      const seconds = await untilUpToDate(stage, AbortSignal.timeout(PATIENCE_MS))
      recoveries.push({ after: name, seconds })
      onLine(`${name}: ${seconds === null ? `not within ${PATIENCE_MS} ms` : `${seconds.toFixed(2)} s`}`)
    }
  }
  return recoveries
}

function mishapTrials(stage: Stage, random: Random): Trial[] {
  return MISHAPS.filter(({ isPossible }) => isPossible?.(stage) ?? true).map(({ name, bring }) => ({
    name,
    bring: () => bring(stage, random, { kills: new Map(), isLong: false }),
  }))
}

/** Each kind on all endpoints that may have it; the second one has only kinds that need no witness. */
function faultTrials({ weathers }: Stage): Trial[] {
  const kinds = [...new Set(weathers.flatMap((weather) => weather.kinds))]
  return kinds.map((kind) => ({
    name: `nodes: ${kind}`,
    bring: async () => {
      for (const weather of weathers) if (weather.kinds.includes(kind)) weather.set([kind])
      await sleep(FAULT_MS)
      for (const weather of weathers) weather.clear()
    },
  }))
}
