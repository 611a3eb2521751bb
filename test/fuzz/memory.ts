import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export function collectGarbage(): void {
  collect()
}

/** Of this thread: its heap, and what its buffers take beside it. */
export function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
