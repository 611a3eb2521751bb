import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url))
/** What a run says over its IPC channel once all is examined, whatever was found. */
export const EXAMINED = 'examined'

export interface SeedRuns {
  seeds: readonly string[]
  /** Flags that each run gets besides its seed. */
  flags: readonly string[]
  /** Runs side by side. */
  jobs: number
  /** How long a run may take: one that hangs is ended, and has not held. */
  mostMs: number
}

/**
 * Each seed in a process of its own, so that what one leaves behind is not the next one's; answers those in which
 * something did not hold, or that did not come to their end.
 */
export async function runSeeds({ seeds, flags, jobs, mostMs }: SeedRuns): Promise<string[]> {
  const waiting = [...seeds]
  const failed: string[] = []
  const worker = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      if (!(await holds(seed, flags, mostMs))) failed.push(seed)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return failed
}

async function holds(seed: string, flags: readonly string[], mostMs: number): Promise<boolean> {
  // The IPC channel ends it when this process is gone.
  const child = fork(PROGRAM, ['--seed', seed, ...flags], { execArgv: ['--import=tsx'] })
  // In order, so that it takes what it started with it.
  const timer = setTimeout(() => child.kill('SIGTERM'), mostMs)
  const said: unknown[] = []
  child.on('message', (message) => said.push(message))
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  const isExamined = said.includes(EXAMINED)
  if (!isExamined) console.error(`seed ${seed}: the run did not come to its end (${code ?? signal})`)
  return isExamined && code === 0
}
