import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addVoucher } from '../../indexer/queue/voucher-queue.ts'
import { contentOf, differences } from './examine.ts'
import { withQueues, type Ground, type Place } from './ground.ts'
import { IndexerLife, type Ended } from './indexer-life.ts'
import type { KillOrder, Moment } from './kill-order.ts'

/** Instead of half a minute: the queue's locks and its looks for jobs whose worker is gone. */
export const LEASE_MS = 1_500
/** Some statements are said at intervals: the lock's beat is the slowest, each 3 seconds. */
const LINGER_MS = 4_000
const SYNC_WITHIN_MS = 90_000
/** What waited for its channel is looked at each second; a job whose worker is gone waits for two leases. */
const SETTLED_WITHIN_MS = 30_000

/** One index, that one indexer after the other works on while the chains go from stage to stage. */
export class Trial {
  /** What the indexers said. */
  output = ''
  /** From the last death until both networks stood where the nodes do. */
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

  /** Where a life with an order writes to. */
  nextReport(): string {
    return join(this.#place.folder, `life-${this.#lives}`)
  }

  /** A life that is to die at a point. Answers whether it did: a life that did not sees the second stage, and leaves. */
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

  /** A life that sees the first two stages, lingers, and is asked to leave. */
  async record(report: string): Promise<void> {
    const life = this.#start({ do: 'record', report, leaseMs: LEASE_MS })
    await this.liveOn(life)
  }

  async liveOn(life: IndexerLife): Promise<Ended> {
    // Who is asked to leave while it loads cannot leave in order.
    await life.untilStarted()
    // What is handed in first waits for its channels; what comes later finds them.
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
   * The last life, without an order: something new comes to either chain and is handed in. Until the index says what is
   * wanted and nothing is left in the queues; answers what is wrong, and with what the life ended.
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

  /** Once for each stage up to and including this one. */
  async #handIn(stage: 0 | 1 | 2): Promise<void> {
    for (; this.#handedIn <= stage; this.#handedIn += 1) {
      const vouchers = this.#ground.chains.stages[this.#handedIn]?.vouchers ?? []
      await withQueues(this.#place.urls, async ([, , queue]) => {
        for (const [index, voucher] of vouchers.entries())
          await addVoucher(queue, { voucher }, `${this.#handedIn}-${index}`)
      })
    }
  }

  /** Waits until the index is where the nodes are; false when the life ended before. */
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
          const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
          if (Object.values(counts).some((count) => count > 0))
            wrong.push(`queue ${index}: ${JSON.stringify(counts)}`)
        }
        calm = wrong.length === 0 ? calm + 1 : 0
        // Without anything to compare with: once nothing changes any more.
        if (calm === (wanted === null ? 20 : 1)) return []
        if (performance.now() > until) return wrong
        last = content
        await sleep(150)
      }
    })
  }
}
