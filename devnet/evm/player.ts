import { setTimeout as sleep } from 'node:timers/promises'
import { playInBulk, type BulkOptions } from './bulk-play.ts'
import type { Deployment } from './deploy.ts'
import { createDiary, type DiaryEntry } from './diary.ts'
import { createLivePlay, type LiveLimits } from './live-play.ts'
import { createRandom } from './random.ts'
import { createRpc } from './rpc.ts'
import { createScene } from './scene.ts'
import { createFilecoinSide, type FilecoinOptions } from '../loans/filecoin-side.ts'
import { lifeJournal } from '../loans/life-journal.ts'
import { openPool } from '../loans/cast.ts'
import type { Life } from './loan-life.ts'

export interface PlayerOptions extends Partial<LiveLimits> {
  rpcUrl: string
  deployment: Deployment
  /** The same seed makes the same choices, and knows the secrets of the loans it made earlier. */
  seed: number | string
  /** Transactions per second, or what it shall be so many seconds after the player was made. */
  pace?: number | ((seconds: number) => number)
  /** The probability that a text in a loan is garbage. */
  hostility?: number
  /** Whether some loans are in tokens without, or with absurd, `decimals()`. */
  badTokens?: boolean
  /** A file to which every event is appended as a line of JSON. */
  diaryFile?: string
  onEvent?: (entry: DiaryEntry) => void
  /** The node on which the loans' Filecoin halves are played; missing: they are not. */
  filecoin?: FilecoinOptions
  /** Where loans that are being lived survive a restart. Missing: only their EVM halves go on after one. */
  livesFile?: string
  /** Told once when the node cannot be reached or misbehaves, and once when it is back. */
  onNotice?: (line: string) => void
}

/** Lives loans on both markets. Its methods may be called side by side: they wait for each other. */
export interface Player {
  /** What it did since it was made, oldest first. */
  readonly diary: readonly DiaryEntry[]
  /** The loans that it conceived, made or not; the newest last. */
  readonly lives: readonly Life[]
  /** One look at the chain and at most one transaction; answers how many were sent. */
  step(): Promise<number>
  /** Plays at its pace until the signal; survives reorgs and a node that goes away for a while. */
  play(signal: AbortSignal): Promise<void>
  playFor(milliseconds: number): Promise<void>
  /**
   * So many whole loans, as fast as the node allows; answers their events. `loansAtOnce` (200) go on side by side:
   * the more, the fewer blocks. Throws if the node is away. `between` runs after each block, while nothing is sent:
   * the place for a reorg that hits loans on their way.
   */
  playLoans(loans: number, options?: BulkOptions): Promise<DiaryEntry[]>
}

export function createPlayer(options: PlayerOptions): Player {
  const { deployment } = options
  const seed = String(options.seed)
  const diary = createDiary(deployment, options.diaryFile, options.onEvent ?? (() => undefined))
  const random = createRandom(seed)
  const { hostility = 0.02, badTokens = false } = options
  const filecoin = options.filecoin === undefined ? undefined : createFilecoinSide(options.filecoin)
  const source = { deployment, random, seed, hostility, badTokens, cast: filecoin?.cast }
  const journal = options.livesFile === undefined ? undefined : lifeJournal(options.livesFile)
  const scene = createScene({ rpc: createRpc(options.rpcUrl), deployment, diary, source, filecoin, journal })
  const { loansAtOnce = 12, maxLoans = Infinity, maxAheadSeconds = 600, onNotice = () => undefined } = options
  const live = createLivePlay(scene, { loansAtOnce, maxLoans, maxAheadSeconds }, onNotice)
  const ready = once(() => (filecoin === undefined ? undefined : openPool(filecoin.cast, deployment)))
  const inTurn = createTurns()
  const step = (): Promise<number> =>
    inTurn(async () => {
      await ready()
      return live.step()
    })
  const play = createLoop(step, options)
  return {
    diary: diary.entries,
    lives: scene.lives,
    step,
    play,
    playFor: (milliseconds) => play(AbortSignal.timeout(milliseconds)),
    playLoans: (loans, options = {}) =>
      inTurn(async () => {
        await ready()
        return playInBulk(scene, loans, options)
      }),
  }
}

/** Done by the first call that succeeds. */
function once(work: () => Promise<void> | undefined): () => Promise<void> {
  let done = false
  return async () => {
    if (!done) await work()
    done = true
  }
}

/** Two at a time would count the same nonces. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

function createLoop(step: () => Promise<number>, options: PlayerOptions): Player['play'] {
  const { pace = 2, onNotice = () => undefined } = options
  const startedAt = Date.now()
  let failing = false
  async function carefulStep(signal: AbortSignal): Promise<void> {
    try {
      await step()
      if (failing) onNotice('the player goes on')
      failing = false
    } catch (error) {
      if (!failing && !signal.aborted) onNotice(`the player waits for the node: ${String(error)}`)
      failing = true
    }
  }
  return async (signal) => {
    while (!signal.aborted) {
      const began = Date.now()
      await carefulStep(signal)
      const rate = typeof pace === 'number' ? pace : pace((began - startedAt) / 1000)
      const pause = Math.max(0, began + 1000 / rate - Date.now())
      await sleep(failing ? 500 : pause, undefined, { signal }).catch(() => undefined)
    }
  }
}
