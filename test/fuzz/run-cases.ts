import { messageOf } from '../../shared/errors.ts'
import { collectGarbage, usedBytes } from './memory.ts'
import type { FuzzCase, FuzzTarget, TargetNeeds } from './fuzz-target.ts'
import { FuzzRandom } from './random.ts'

/** The cases of a target: `count` of them from the number `from` on. */
export interface Assignment {
  target: string
  seed: string
  from: number
  count: number
  /** Ends after this many seconds, however many cases have run. */
  seconds: number
}

export interface Failure {
  target: string
  seed: string
  case: number
  what: string
  input: string
}

export interface TargetReport {
  target: string
  cases: number
  taken: number
  refused: number
  seconds: number
  slowestMs: number
  /** Heap at the end in excess of the heap after the first cases. */
  retainedBytes: number
  /** Memory of the whole process, and so of all targets that ran in it at once. */
  rssBytes: number
  failures: Failure[]
}

/** Called before each single run of a case, so that a watchdog knows its number when no message can be sent. */
export type Beat = (caseNumber: number) => void

/** A single case may not take longer, or grow the heap by more. */
export const SLOWEST_MS = 1_000
export const LARGEST_GROWTH_BYTES = 64 * 1024 * 1024
/** Reported failures of one target; those that begin with the same words count once. */
const MOST_FAILURES = 5
/** Cases between two looks at the heap; after too much growth, each of them runs again by itself. */
const WINDOW = 256
/** Cases until compilers and caches have reached their size. */
const WARM_UP = 2_000
const STACK_FRAMES = 12

export function makeCase(
  { make }: { make: (random: FuzzRandom) => FuzzCase },
  { target, seed }: { target: string; seed: string },
  number: number,
): FuzzCase {
  const random = new FuzzRandom(`${seed}/${target}`)
  random.beginCase(number)
  return make(random)
}

/** Runs the cases one after the other. Rejects only when the fuzzer itself is at fault. */
export async function runCases(
  target: FuzzTarget,
  assignment: Assignment,
  needs: TargetNeeds,
  beat: Beat,
): Promise<TargetReport> {
  const open = await target.open(needs)
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return await new Run(open, assignment, beat).all()
  } finally {
    Error.stackTraceLimit = limit
    await open.close?.()
  }
}

class Run {
  readonly #open: { make: (random: FuzzRandom) => FuzzCase }
  readonly #assignment: Assignment
  readonly #beat: Beat
  readonly #random: FuzzRandom
  readonly #report: TargetReport
  readonly #told = new Set<string>()

  constructor(open: { make: (random: FuzzRandom) => FuzzCase }, assignment: Assignment, beat: Beat) {
    const { target, seed } = assignment
    this.#open = open
    this.#assignment = assignment
    this.#beat = beat
    this.#random = new FuzzRandom(`${seed}/${target}`)
    this.#report = {
      ...{ target, cases: 0, taken: 0, refused: 0, seconds: 0, slowestMs: 0, retainedBytes: 0, rssBytes: 0 },
      failures: [],
    }
  }

  async all(): Promise<TargetReport> {
    const { from, count, seconds } = this.#assignment
    const report = this.#report
    const startMs = performance.now()
    let heap = usedBytes()
    let held = 0
    for (let number = from; number < from + count; number += 1) {
      await this.#one(number)
      report.cases += 1
      if (report.cases === WARM_UP) held = afterCollection()
      if (report.cases % WINDOW !== 0) continue
      const now = usedBytes()
      if (now - heap > LARGEST_GROWTH_BYTES) await this.#findGrowth(number - WINDOW + 1)
      heap = now - heap > LARGEST_GROWTH_BYTES ? usedBytes() : now
      if (report.failures.length >= MOST_FAILURES || performance.now() - startMs > seconds * 1000) break
    }
    report.seconds = (performance.now() - startMs) / 1000
    report.retainedBytes = report.cases > WARM_UP ? afterCollection() - held : 0
    report.rssBytes = process.memoryUsage.rss()
    if (report.retainedBytes > LARGEST_GROWTH_BYTES)
      this.#fail(from + report.cases - 1, `${report.retainedBytes} bytes are held after all cases`)
    return report
  }

  #make(number: number): FuzzCase {
    this.#random.beginCase(number)
    return this.#open.make(this.#random)
  }

  async #one(number: number): Promise<void> {
    const fuzzCase = this.#make(number)
    this.#beat(number)
    const startMs = performance.now()
    try {
      // Most targets answer synchronously; only the others are awaited.
      const answer = fuzzCase.feed()
      const outcome = typeof answer === 'string' ? answer : await answer
      this.#report[outcome] += 1
    } catch (error) {
      this.#fail(number, await this.#withStack(number, error))
    }
    let ms = performance.now() - startMs
    for (let again = 0; ms > SLOWEST_MS && again < 4; again += 1)
      ms = Math.min(ms, await this.#timeAgain(number))
    if (ms > this.#report.slowestMs) this.#report.slowestMs = ms
    if (ms > SLOWEST_MS) this.#fail(number, `it takes ${Math.round(ms)} ms`)
  }

  /** Refusals are thrown a million times, so stacks are recorded only for failures, in a second run. */
  async #withStack(number: number, first: unknown): Promise<string> {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = STACK_FRAMES
    try {
      await this.#make(number).feed()
      return `${messageOf(first)} (and not again when it was run again)`
    } catch (error) {
      return error instanceof Error ? (error.stack ?? messageOf(error)) : String(error)
    } finally {
      Error.stackTraceLimit = limit
    }
  }

  /** A busy machine or a collection can delay any case once; a slow case is slow each time. */
  async #timeAgain(number: number): Promise<number> {
    const fuzzCase = this.#make(number)
    this.#beat(number)
    const startMs = performance.now()
    await runQuietly(fuzzCase)
    return performance.now() - startMs
  }

  async #findGrowth(from: number): Promise<void> {
    for (let number = from; number < from + WINDOW; number += 1) {
      const fuzzCase = this.#make(number)
      this.#beat(number)
      const before = afterCollection()
      await runQuietly(fuzzCase)
      const grown = usedBytes() - before
      if (grown > LARGEST_GROWTH_BYTES) this.#fail(number, `it makes the heap ${grown} bytes larger`)
    }
  }

  #fail(number: number, what: string): void {
    const kind = what.replaceAll(/[^A-Za-z ]/g, '').slice(0, 30)
    if (this.#told.has(kind)) return
    this.#told.add(kind)
    const { target, seed } = this.#assignment
    this.#report.failures.push({ target, seed, case: number, what, input: this.#make(number).show() })
  }
}

/** Its error was reported in the first run. */
async function runQuietly(fuzzCase: FuzzCase): Promise<void> {
  try {
    await fuzzCase.feed()
  } catch {
    return
  }
}

function afterCollection(): number {
  collectGarbage()
  return usedBytes()
}
