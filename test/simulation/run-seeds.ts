import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url))
/** What a run says over its IPC channel once all is examined, whatever was found. */
export const EXAMINED = 'examined'

const LAST_WORDS_MS = 30_000

export interface SeedRuns {
  seeds: readonly string[]
  /** Flags that each run gets besides its seed. */
  flags: readonly string[]
  /** Runs side by side. */
  jobs: number
  /** How long a run may take: one that hangs is ended, and has not held. */
  mostMs: number
  /** Hears of each run that did not come to its end. */
  onUnexamined: (seed: string) => void
}

/**
 * Each seed in a process of its own, so that what one leaves behind is not the next one's; answers those in which
 * something did not hold, or that did not come to their end.
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
    // In order, so that it takes what it started with it; unless nothing in it runs any more.
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
