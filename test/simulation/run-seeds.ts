import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url))
const COMPLAINTS = 1

export interface SeedRuns {
  seeds: readonly string[]
  /** Flags that each run gets besides its seed. */
  flags: readonly string[]
  /** Runs side by side. */
  jobs: number
}

/**
 * Each seed in a process of its own, so that what one leaves behind is not the next one's; answers those in which
 * something did not hold. Throws when a run did not come to its end.
 */
export async function runSeeds({ seeds, flags, jobs }: SeedRuns): Promise<string[]> {
  const waiting = [...seeds]
  const failed: string[] = []
  const worker = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      if (!(await holds(seed, flags))) failed.push(seed)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return failed
}

async function holds(seed: string, flags: readonly string[]): Promise<boolean> {
  // The IPC channel ends it when this process is gone.
  const child = fork(PROGRAM, ['--seed', seed, ...flags], { execArgv: ['--import=tsx'] })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0 && code !== COMPLAINTS)
    throw new Error(`the run of seed ${seed} ended with ${code ?? signal}`)
  return code === 0
}
