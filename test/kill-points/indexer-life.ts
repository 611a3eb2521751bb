import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KillOrder } from './kill-order.ts'

const STARTS_WITHIN_MS = 60_000

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

/** One process of the indexer, from its start to any end. It has a hook only if there is an order. */
export class IndexerLife {
  /** How it ended; undefined while it lives. */
  ended: Ended | undefined
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  #output = ''

  constructor(
    program: { indexer: string; preload: string },
    environment: NodeJS.ProcessEnv,
    order: KillOrder | null,
  ) {
    const hook = order === null ? [] : ['--import', program.preload]
    this.#child = spawn(process.execPath, ['--no-warnings', ...hook, program.indexer], {
      env: { ...environment, ...(order === null ? {} : { KILL_ORDER: JSON.stringify(order) }) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-200_000)
    }
    this.#child.stdout?.on('data', keep)
    this.#child.stderr?.on('data', keep)
    this.#exited = new Promise<void>((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.ended = { code, signal }
        resolve()
      })
    })
  }

  /** Its output, for a complaint. */
  get output(): string {
    return this.#output
  }

  /** Waits until it reports its start, or has ended. Throws when neither happens in a minute. */
  async untilStarted(): Promise<void> {
    const until = performance.now() + STARTS_WITHIN_MS
    while (this.ended === undefined && !this.#output.includes('"msg":"started"')) {
      if (performance.now() > until) throw new Error('the indexer did not start')
      await sleep(20)
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Waits for its end, at most this many milliseconds. */
  async untilEnded(withinMs: number): Promise<Ended | undefined> {
    const patience = new AbortController()
    const timer = setTimeout(() => patience.abort(), withinMs)
    await Promise.race([this.#exited, once(patience.signal, 'abort')])
    clearTimeout(timer)
    return this.ended
  }

  /** Stops it in order; kills it after 20 s. */
  async stop(): Promise<Ended> {
    this.signal('SIGTERM')
    const ended = await this.untilEnded(20_000)
    if (ended !== undefined) return ended
    this.signal('SIGKILL')
    await this.#exited
    return { code: null, signal: 'SIGKILL' }
  }
}
