import { Worker } from 'node:worker_threads'
import { messageOf } from '../../shared/errors.ts'
import type { TargetNeeds } from './fuzz-target.ts'
import { importTargets, type WorkerStart } from './worker-start.ts'
import { makeCase, type Assignment, type TargetReport } from './run-cases.ts'

/** A thread does not inherit the TypeScript loader, so it registers it first. */
const BOOTSTRAP = `
  import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))}).then(({ register }) => {
    register()
    return import(${JSON.stringify(new URL('./fuzz-worker.ts', import.meta.url).href)})
  })`

export interface Campaign {
  assignments: Assignment[]
  /** Threads that run targets side by side. */
  workers: number
  needs: TargetNeeds
  /** The module of the targets, and the time a case may be silent; each has a default. */
  targetsModule?: string
  hangMs?: number
  /** Called at each target's start and end, and every few seconds with the progress of running ones. */
  onBegin?: (assignment: Assignment) => void
  onProgress?: (assignment: Assignment, casesDone: number) => void
  onEnd?: (report: TargetReport) => void
}

/** A case over a second fails by itself; one that takes this long never ends. */
const HANG_MS = 20_000
const TARGETS_MODULE = new URL('./targets.ts', import.meta.url).href
const LOOK_MS = 1_000
const PROGRESS_MS = 5_000
/** Bound on a thread's objects: a target that needs more ends, and its case is reported. */
const HEAP_MB = 512

/** Runs all assignments, each target in one thread. A hang or an exhausted heap ends its target and no other. */
export async function runCampaign(campaign: Campaign): Promise<TargetReport[]> {
  const open = [...campaign.assignments]
  const reports: TargetReport[] = []
  const lane = async (): Promise<void> => {
    let thread: Thread | undefined
    for (let assignment = open.shift(); assignment !== undefined; assignment = open.shift()) {
      thread ??= new Thread(campaign)
      campaign.onBegin?.(assignment)
      const report = await thread.run(assignment)
      if (thread.isGone) thread = undefined
      reports.push(report)
      campaign.onEnd?.(report)
    }
    await thread?.end()
  }
  await Promise.all(Array.from({ length: campaign.workers }, lane))
  return reports
}

class Thread {
  isGone = false
  readonly #campaign: Campaign
  readonly #worker: Worker
  readonly #beats = new Int32Array(new SharedArrayBuffer(8))

  constructor(campaign: Campaign) {
    this.#campaign = campaign
    const { needs } = campaign
    const workerData: WorkerStart = { beats: this.#beats, needs, targetsModule: moduleOf(campaign) }
    this.#worker = new Worker(BOOTSTRAP, {
      eval: true,
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
  }

  async run(assignment: Assignment): Promise<TargetReport> {
    const startMs = performance.now()
    Atomics.store(this.#beats, 0, assignment.from)
    const stopWatching = new AbortController()
    try {
      return await Promise.race([this.#answer(assignment), this.#watch(assignment, stopWatching.signal)])
    } catch (error) {
      this.isGone = true
      await this.#worker.terminate()
      return await this.#failed(assignment, messageOf(error), startMs)
    } finally {
      stopWatching.abort()
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #answer(assignment: Assignment): Promise<TargetReport> {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners()
      this.#worker.once('message', resolve)
      this.#worker.once('error', reject)
      this.#worker.once('exit', (code) => reject(new Error(`the thread ended with code ${code}`)))
      this.#worker.postMessage(assignment)
    })
  }

  /** Rejects when no case began for too long. */
  #watch(assignment: Assignment, signal: AbortSignal): Promise<never> {
    const { hangMs = HANG_MS, onProgress } = this.#campaign
    return new Promise((_, reject) => {
      const startMs = performance.now()
      let last = { runs: -1, atMs: startMs }
      let toldMs = startMs
      const timer = setInterval(() => {
        const now = performance.now()
        const runs = Atomics.load(this.#beats, 1)
        if (runs !== last.runs) last = { runs, atMs: now }
        if (last.runs > 0 && now - last.atMs > hangMs) reject(new Error(`it did not end within ${hangMs} ms`))
        if (now - toldMs < PROGRESS_MS) return
        toldMs = now
        onProgress?.(assignment, Atomics.load(this.#beats, 0) - assignment.from)
      }, LOOK_MS)
      signal.addEventListener('abort', () => clearInterval(timer))
    })
  }

  /** The thread can no longer report its input, so it is made again here. */
  async #failed(assignment: Assignment, what: string, startMs: number): Promise<TargetReport> {
    const { target, seed, from } = assignment
    const at = Atomics.load(this.#beats, 0)
    const { findTarget } = await importTargets(moduleOf(this.#campaign))
    const open = await findTarget(target).open(this.#campaign.needs)
    const input = makeCase(open, assignment, at).show()
    await open.close?.()
    return {
      ...{ target, cases: at - from, taken: 0, refused: 0, slowestMs: 0, retainedBytes: 0, rssBytes: 0 },
      seconds: (performance.now() - startMs) / 1000,
      failures: [{ target, seed, case: at, what, input }],
    }
  }
}

function moduleOf({ targetsModule = TARGETS_MODULE }: Campaign): string {
  return targetsModule
}
