import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addVoucher } from '../../indexer/queue/voucher-queue.ts'
import { brokenRules, contentOf, differences, leaks, replayDiffers } from './examine.ts'
import { EXAMINER, openPlace, withQueues, type Ground, type Place, type QueueKind } from './ground.ts'
import { IndexerLife } from './indexer-life.ts'
import type { KillOrder, Moment, PointCount } from './kill-order.ts'

/** Where the indexer is to die. */
export interface Case {
  queue: QueueKind
  point: string
  moment: Moment
  /** The how-manieth time that the point is passed, from 1. */
  occurrence: number
}

export interface Verdict {
  /** Whether it died there; a point that is passed at its own times may be missed. */
  reached: boolean
  /** What is wrong. */
  complaints: string[]
  /** From the death until both networks stood where the nodes do; null where it did not die. */
  recoveredMs: number | null
  tookMs: number
  /** What the indexers said, where something is wrong. */
  output: string
}

/** Instead of half a minute: the queue's locks and its looks for jobs whose worker is gone. */
const LEASE_MS = 1_500
/** Some statements are said at intervals: the lock's beat is the slowest, each 3 seconds. */
const LINGER_MS = 5_000
const SYNC_WITHIN_MS = 60_000
/** What waited for its channel is looked at each second; a job whose worker is gone waits for two leases. */
const SETTLED_WITHIN_MS = 30_000

/** Notes every point that an undisturbed indexer passes until it stops, and what the index says in the end. */
export async function recordPoints(
  ground: Ground,
  queue: QueueKind,
): Promise<{ points: PointCount[]; content: string[]; place: Place }> {
  const place = await openPlace(ground, queue)
  const report = join(place.folder, 'points.json')
  const first = new Lives(ground, place, { do: 'record', report, leaseMs: LEASE_MS })
  await first.seeStages(LINGER_MS)
  await first.stop()
  const points = JSON.parse(readFileSync(report, 'utf8')) as PointCount[]
  const second = new Lives(ground, place, { do: 'nothing', leaseMs: LEASE_MS })
  await second.seeLastStage()
  // The reference: until nothing changes any more.
  let content = await contentOf(place.db)
  for (let calmMs = 0; calmMs < 3000; calmMs += 500) {
    await sleep(500)
    const now = await contentOf(place.db)
    if (differences(now, content).length > 0) calmMs = 0
    content = now
  }
  await second.stop()
  return { points, content, place }
}

/** Kills an indexer as the case says, starts it again and examines what became of the index. */
export async function tryCase(ground: Ground, one: Case, wanted: readonly string[]): Promise<Verdict> {
  const startedMs = performance.now()
  const place = await openPlace(ground, one.queue)
  try {
    const { point, moment, occurrence } = one
    const report = join(place.folder, 'death.txt')
    const lives = new Lives(ground, place, {
      do: 'kill',
      report,
      point,
      moment,
      occurrence,
      leaseMs: LEASE_MS,
    })
    const complaints = await examine(lives, place, wanted).catch((error: unknown) => [String(error)])
    await lives.stop()
    return {
      ...{ complaints, reached: existsSync(report), recoveredMs: lives.recoveredMs },
      tookMs: performance.now() - startedMs,
      output: complaints.length > 0 ? lives.output : '',
    }
  } finally {
    await place.leave()
  }
}

async function examine(lives: Lives, place: Place, wanted: readonly string[]): Promise<string[]> {
  await lives.seeStages(LINGER_MS)
  await lives.seeLastStage()
  const complaints = await lives.untilSettled(wanted)
  const { code, signal } = await lives.stop()
  if (code !== 0) complaints.push(`it did not stop in order: ${String(code ?? signal)}`)
  complaints.push(...(await leaks(place.db, EXAMINER)), ...(await brokenRules(place.db)))
  complaints.push(...(await replayDiffers(place.db)))
  return complaints
}

/** An indexer that is started again when it dies; only its first life has an order. */
class Lives {
  output = ''
  recoveredMs: number | null = null
  readonly #ground: Ground
  readonly #place: Place
  #life: IndexerLife
  #diedMs: number | undefined

  constructor(ground: Ground, place: Place, order: KillOrder) {
    this.#ground = ground
    this.#place = place
    this.#life = this.#start(order)
  }

  #start(order: KillOrder): IndexerLife {
    return new IndexerLife(this.#ground.compiled, this.#place.environment, order)
  }

  #startAgain(): void {
    this.#diedMs ??= performance.now()
    this.output += `${this.#life.output}\n-- started again --\n`
    this.#life = this.#start({ do: 'nothing', leaseMs: LEASE_MS })
  }

  /** The first two stages; a first life that is not over then is given time, and asked to leave. */
  async seeStages(lingerMs: number): Promise<void> {
    // What is handed in first waits for its channels; what comes later finds them.
    await this.#handIn(0)
    await this.#untilAt(0)
    this.#place.showStage(1)
    await this.#untilAt(1)
    await this.#handIn(1)
    if (this.#diedMs !== undefined) return
    await this.#life.untilEnded(lingerMs)
    await this.stop()
  }

  /** The queue takes and the writer writes: something new comes to either chain, and is handed in. */
  async seeLastStage(): Promise<void> {
    if (this.#life.ended !== undefined) this.#startAgain()
    await this.#handIn(2)
    this.#place.showStage(2)
    await this.#untilAt(2)
  }

  async #handIn(stage: 0 | 1 | 2): Promise<void> {
    const { vouchers } = this.#ground.chains.stages[stage]
    await withQueues(this.#place.urls, async ([, , queue]) => {
      for (const [index, voucher] of vouchers.entries())
        await addVoucher(queue, { voucher }, `${stage}-${index}`)
    })
  }

  async #untilAt(stage: 0 | 1 | 2): Promise<void> {
    const { heads } = this.#ground.chains.stages[stage]
    const until = performance.now() + SYNC_WITHIN_MS
    for (;;) {
      const rows = await this.#place.db
        .selectFrom('ledger.chain_position')
        .select(['network', 'hash'])
        .execute()
      if (
        Object.entries(heads).every(([network, hash]) =>
          rows.some((row) => row.network === network && row.hash === hash),
        )
      )
        break
      if (this.#life.ended !== undefined) this.#startAgain()
      if (performance.now() > until) throw new Error(`not at stage ${stage}: ${JSON.stringify(rows)}`)
      await sleep(20)
    }
    if (this.#diedMs !== undefined) this.recoveredMs ??= performance.now() - this.#diedMs
  }

  /** Until the index says what the undisturbed one does and nothing is left in the queues. */
  async untilSettled(wanted: readonly string[]): Promise<string[]> {
    const until = performance.now() + SETTLED_WITHIN_MS
    return withQueues(this.#place.urls, async (queues) => {
      for (;;) {
        const wrong = differences(await contentOf(this.#place.db), wanted)
        for (const [index, queue] of queues.entries()) {
          const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
          if (Object.values(counts).some((count) => count > 0))
            wrong.push(`queue ${index}: ${JSON.stringify(counts)}`)
        }
        if (wrong.length === 0 || performance.now() > until) return wrong
        await sleep(50)
      }
    })
  }

  async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const ended = this.#life.ended ?? (await this.#life.stop())
    this.output += this.#life.output
    return ended
  }
}
