import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { serveSyntheticLotus } from './serve-lotus.ts'
import type { LotusShape } from './tipsets.ts'

/** The program that {@link startLotus} runs; ends with its parent. */
export async function runSyntheticLotus(shape: LotusShape): Promise<void> {
  const url = await serveSyntheticLotus(shape)
  process.on('disconnect', () => process.exit())
  process.send?.(url)
}

/** Starts a node in a process of its own, which keeps its cost out of the measurement. */
export async function startLotus(shape: LotusShape): Promise<{ url: string; pid: number; stop: () => void }> {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const child = fork(main, ['synthetic-lotus', JSON.stringify(shape)], {
    execArgv: ['--import', 'tsx', '--no-warnings'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(typeof message === 'string' ? message : ''))
    child.once('exit', (code) => reject(new Error(`the node ended with code ${code ?? 'none'}`)))
  })
  return { url, pid: child.pid ?? 0, stop: () => child.kill() }
}
