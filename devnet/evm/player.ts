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
  /** Transactions per second, or a function of the seconds since the player was made. */
  pace?: number | ((seconds: number) => number)
  /** The probability that a text in a loan is garbage. */
  hostility?: number
  /** Includes loans in tokens without, or with absurd, `decimals()`. */
  badTokens?: boolean
  /** A file to which every event is appended as a line of JSON. */
  diaryFile?: string
  onEvent?: (entry: DiaryEntry) => void
  /** The node for the loans' Filecoin halves; missing: they are not played. */
  filecoin?: FilecoinOptions
  /** A file that keeps open loans over a restart. Missing: only their EVM halves continue after one. */
  livesFile?: string
  /** Called once when the node is away or misbehaves, and once when it is back. */
  onNotice?: (line: string) => void
}

/** Plays loans on both markets. Concurrent calls of its methods wait for each other. */
export interface Player {
  /** Its events since it was made, oldest first. */
  readonly diary: readonly DiaryEntry[]
  /** All loans that it planned, made or not; the newest last. */
  readonly lives: readonly Life[]
  /** Looks at the chain and sends at most one transaction; returns how many were sent. */
  step(): Promise<number>
  /** Plays at its pace until the signal; survives reorgs and temporary failures of the node. */
  play(signal: AbortSignal): Promise<void>
  playFor(milliseconds: number): Promise<void>
  /**
   * Plays this many whole loans as fast as the node allows; returns their events. `loansAtOnce` (200) run side by side:
   * the more, the fewer blocks. Throws if the node is away. `between` runs after each block, while nothing is sent, so
   * that a reorg there hits unfinished loans.
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

/** Runs the work until a first call succeeds. */
function once(work: () => Promise<void> | undefined): () => Promise<void> {
  let done = false
  return async () => {
    if (!done) await work()
    done = true
  }
}

/** Concurrent calls would count the same nonces. */
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
