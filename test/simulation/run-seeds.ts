import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url))
/** A run sends this over its IPC channel once all is examined, with any result. */
export const EXAMINED = 'examined'

const LAST_WORDS_MS = 30_000

export interface SeedRuns {
  seeds: readonly string[]
  /** Flags for each run besides its seed. */
  flags: readonly string[]
  /** Concurrent runs. */
  jobs: number
  /** Time limit of a run: one that hangs is ended and counts as failed. */
  mostMs: number
  /** Called for each run that did not finish. */
  onUnexamined: (seed: string) => void
}

/**
 * Runs each seed in a process of its own, so that no run affects the next. Returns the seeds with a broken promise and
 * those that did not finish.
 */
export async function runSeeds(runs: SeedRuns): Promise<string[]> {
  const { seeds, jobs } = runs
  const waiting = [...seeds]
  const failed: string[] = []
  const worker = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      if (!(await holds(seed, runs))) failed.push(seed)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return failed
}

async function holds(seed: string, { flags, mostMs, onUnexamined }: SeedRuns): Promise<boolean> {
  // The IPC channel ends it when this process is gone.
  const child = fork(PROGRAM, ['--seed', seed, ...flags], { execArgv: ['--import=tsx'] })
  const late = new AbortController()
  const end = (): void => {
    late.abort()
    // First in order, so that it ends its own processes; then by force if it no longer reacts.
    child.kill('SIGTERM')
    timer = setTimeout(() => child.kill('SIGKILL'), LAST_WORDS_MS)
  }
  let timer = setTimeout(end, mostMs)
  const said: unknown[] = []
  child.on('message', (message) => said.push(message))
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  const isExamined = said.includes(EXAMINED)
  if (!isExamined || late.signal.aborted) {
    const how = late.signal.aborted ? `within ${mostMs / 60_000} minutes` : `(${code ?? signal ?? 'no code'})`
    console.error(`seed ${seed}: the run did not come to its end ${how}`)
    if (!isExamined) onUnexamined(seed)
  }
  return isExamined && code === 0
}
