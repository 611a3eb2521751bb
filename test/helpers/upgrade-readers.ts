const PATHS = [
  '/api/activity/history/1',
  '/api/loan/ERC20/1',
  '/api/activity?limit=50',
  '/api/status',
  '/readyz',
]
const READERS = 4

export interface Reading {
  count: number
  slowestMs: number
  /** Answers of 500 and above, and connections that failed. */
  failures: string[]
}

/** Asks an API without a pause until it is stopped. `/readyz` may say 503: nobody indexes during an upgrade. */
export function startReaders(address: string): { stop: () => Promise<Reading> } {
  const reading: Reading = { count: 0, slowestMs: 0, failures: [] }
  let isStopped = false
  const read = async (): Promise<void> => {
    for (let turn = 0; !isStopped; turn += 1) {
      const path = PATHS[turn % PATHS.length] ?? ''
      const startedMs = performance.now()
      try {
        const answer = await fetch(address + path)
        await answer.text()
        if (answer.status >= 500 && path !== '/readyz') reading.failures.push(`${path}: ${answer.status}`)
      } catch (error) {
        reading.failures.push(`${path}: ${String(error)}`)
      }
      reading.count += 1
      reading.slowestMs = Math.max(reading.slowestMs, Math.round(performance.now() - startedMs))
    }
  }
  const readers = Array.from({ length: READERS }, read)
  return {
    stop: async () => {
      isStopped = true
      await Promise.all(readers)
      return reading
    },
  }
}
