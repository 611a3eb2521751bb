import { setTimeout as sleep } from 'node:timers/promises'
import type { JobQueue } from './backend.ts'
import type { InFlight } from './publish-steps.ts'

const COUNT_INTERVAL_MS = 1_000

export interface JobCounts {
  /** Jobs that are not done, the one that is being written included; null while the queue cannot be asked. */
  waiting: number | null
  failed: number | null
}

/**
 * Counts a queue's jobs until `signal` aborts, and tells when steps that the queue had taken are in it no more though nobody
 * wrote them: a job is there from when it was added until its step is done, and all are counted at once.
 */
export async function watchJobs(
  queue: JobQueue,
  inFlight: InFlight,
  told: { signal: AbortSignal; onCount: (counts: JobCounts) => void; onLost: () => void },
): Promise<void> {
  while (!told.signal.aborted) {
    const given = inFlight.lastGiven
    const counts = await countJobs(queue)
    told.onCount(counts)
    if (counts.waiting === 0 && inFlight.hasAnyUpTo(given)) told.onLost()
    await sleep(COUNT_INTERVAL_MS, undefined, { signal: told.signal }).catch(() => undefined)
  }
}

async function countJobs(queue: JobQueue): Promise<JobCounts> {
  try {
    const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
    const waiting = (counts['waiting'] ?? 0) + (counts['active'] ?? 0) + (counts['delayed'] ?? 0)
    return { waiting, failed: counts['failed'] ?? 0 }
  } catch {
    // The queue's connection is away: it is opened again, and the depth is unknown until then.
    return { waiting: null, failed: null }
  }
}
