import { setTimeout as sleep } from 'node:timers/promises'
import type { JobQueue, JobWorker } from './backend.ts'

/** A queue whose Redis is away never closes. */
const CLOSE_MS = 5_000

/** Closes workers and queues, or leaves them after some seconds. */
export async function closeParts(...parts: (JobWorker | JobQueue)[]): Promise<void> {
  const limit = new AbortController()
  await Promise.race([
    Promise.allSettled(parts.map((part) => part.close())),
    sleep(CLOSE_MS, undefined, { signal: limit.signal }).catch(() => undefined),
  ])
  limit.abort()
}
