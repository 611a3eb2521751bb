import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addVoucher } from '../../indexer/queue/voucher-queue.ts'
import { contentOf, differences } from './examine.ts'
import { withQueues, type Ground, type Place } from './ground.ts'
import { IndexerLife, type Ended } from './indexer-life.ts'
import type { KillOrder, Moment } from './kill-order.ts'

/** Replaces half a minute: the queue's locks, and its checks for jobs of dead workers. */
export const LEASE_MS = 1_500
/** Some statements run at intervals: the slowest is the lock's heartbeat, every 3 seconds. */
const LINGER_MS = 4_000
const SYNC_WITHIN_MS = 90_000
/** Records that wait for their channels are checked every second; the job of a dead worker waits for two leases. */
const SETTLED_WITHIN_MS = 30_000

/** One index on which one indexer after the other works while the chains go from stage to stage. */
export class Trial {
  /** The indexers' output. */
  output = ''
  /** Time from the last death until both networks stood at their nodes' heads. */
  recoveredMs: number | null = null
  readonly #ground: Ground
  readonly #place: Place
  #stage: 0 | 1 | 2 = 0
  #handedIn = 0
  #lives = 0
  #diedMs: number | undefined

  constructor(ground: Ground, place: Place) {
    this.#ground = ground
    this.#place = place
  }

  /** Path of the file that the next life with an order writes. */
  nextReport(): string {
    return join(this.#place.folder, `life-${this.#lives}`)
  }

  /**
   * Runs a life that must die at a point, and returns whether it did. A life that survives sees the second stage and
   * leaves.
   */
  async kill(point: string, moment: Moment): Promise<boolean> {
    const report = this.nextReport()
    const life = this.#start({ do: 'kill', report, point, moment, leaseMs: LEASE_MS })
    const ended = await this.liveOn(life)
    this.output += `${life.output}\n-- ${ended.signal ?? ended.code ?? 'ended'} --\n`
    const isDead = existsSync(report)
    if (isDead) this.#diedMs = performance.now()
    else if (ended.code !== 0) throw new Error(`it ended by itself: ${ended.signal ?? ended.code ?? ''}`)
    return isDead
  }

  /** Runs a life that sees the first two stages, lingers, and stops in order. */
  async record(report: string): Promise<void> {
    const life = this.#start({ do: 'record', report, leaseMs: LEASE_MS })
    await this.liveOn(life)
  }

  async liveOn(life: IndexerLife): Promise<Ended> {
    // A process cannot stop in order while it loads.
    await life.untilStarted()
    // Vouchers handed in first wait for their channels; later ones find them.
    await this.#handIn(0)
    while (await this.#isAtStage(life)) {
      if (this.#stage === 1) {
        await this.#handIn(1)
        return (await life.untilEnded(LINGER_MS)) ?? (await life.stop())
      }
      this.#showStage(1)
    }
    return life.ended ?? life.stop()
  }

  /**
   * Runs the last life, without an order, with news on either chain and new vouchers. Waits until the index has the
   * wanted content and the queues are empty; returns what is wrong, including the life's exit.
   */
  async settle(wanted: readonly string[] | null): Promise<string[]> {
    const life = this.#start({ do: 'nothing', leaseMs: LEASE_MS })
    try {
      for (const stage of [0, 1, 2] as const) {
        if (this.#stage > stage) continue
        this.#showStage(stage)
        if (!(await this.#isAtStage(life))) return [`it ended at stage ${stage} without an order`]
        if (this.#diedMs !== undefined) this.recoveredMs ??= performance.now() - this.#diedMs
        await this.#handIn(stage)
      }
      const wrong = await this.#untilSettled(wanted)
      const { code, signal } = await life.stop()
      return code === 0 ? wrong : [...wrong, `it did not stop in order: ${String(code ?? signal)}`]
    } finally {
      if (life.ended === undefined) await life.stop()
      this.output += life.output
    }
  }

  #start(order: KillOrder): IndexerLife {
    this.#lives += 1
    return new IndexerLife(this.#ground.compiled, this.#place.environment, order)
  }

  #showStage(stage: 0 | 1 | 2): void {
    this.#stage = stage
    this.#place.showStage(stage)
  }

  /** Hands in the vouchers of all stages up to this one, each stage once. */
  async #handIn(stage: 0 | 1 | 2): Promise<void> {
    for (; this.#handedIn <= stage; this.#handedIn += 1) {
      const vouchers = this.#ground.chains.stages[this.#handedIn]?.vouchers ?? []
      await withQueues(this.#place.urls, async ([, , queue]) => {
        for (const [index, voucher] of vouchers.entries())
          await addVoucher(queue, { voucher }, `${this.#handedIn}-${index}`)
      })
    }
  }

  /** Waits until the index is at its nodes' heads; false when the life ended before. */
  async #isAtStage(life: IndexerLife): Promise<boolean> {
    const heads = Object.entries(this.#ground.chains.stages[this.#stage].heads)
    const until = performance.now() + SYNC_WITHIN_MS
    for (;;) {
      if (life.ended !== undefined) return false
      const rows = await this.#place.db
        .selectFrom('ledger.chain_position')
        .select(['network', 'hash'])
        .execute()
      if (heads.every(([network, hash]) => rows.some((row) => row.network === network && row.hash === hash)))
        return true
      if (performance.now() > until) {
        await life.stop()
        throw new Error(`not at stage ${this.#stage}: ${JSON.stringify(rows)}`)
      }
      await sleep(50)
    }
  }

  async #untilSettled(wanted: readonly string[] | null): Promise<string[]> {
    const until = performance.now() + SETTLED_WITHIN_MS
    return withQueues(this.#place.urls, async (queues) => {
      let calm = 0
      let last: string[] = []
      for (;;) {
        const content = await contentOf(this.#place.db)
        const wrong = differences(content, wanted ?? last)
        for (const [index, queue] of queues.entries()) {
          const counts = await queue.getJobCounts('waiting', 'active', 'delayed')
          if (Object.values(counts).some((count) => count > 0))
            wrong.push(`queue ${index}: ${JSON.stringify(counts)}`)
        }
        // BullMQ's own failed jobs may be those that too many killed workers had: their steps are read again.
        for (const { queue, reason } of await deadSteps(this.#place.db))
          wrong.push(`a dead letter in ${queue}: ${reason}`)
        calm = wrong.length === 0 ? calm + 1 : 0
        // The index counts as settled once nothing changes any more, if there is no wanted content.
        if (calm === (wanted === null ? 20 : 1)) return []
        if (performance.now() > until) return wrong
        last = content
        await sleep(150)
      }
    })
  }
}

function deadSteps(db: Place['db']): Promise<{ queue: string; reason: string }[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .select(['queue', 'reason'])
    .where('queue', 'like', 'steps-%')
    .execute()
}
