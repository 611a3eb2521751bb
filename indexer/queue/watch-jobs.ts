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
 * Counts a queue's jobs until `signal` aborts, and reports when the job of the oldest step in flight is no longer in the
 * queue although nobody wrote the step: others can remove jobs, and BullMQ gives up one that stalls too often.
 */
export async function watchJobs(
  queue: JobQueue,
  inFlight: InFlight,
  report: { signal: AbortSignal; onCount: (counts: JobCounts) => void; onLost: () => void },
): Promise<void> {
  while (!report.signal.aborted) {
    report.onCount(await countJobs(queue))
    const jobId = inFlight.oldestJobId
    // A step is done before its job leaves the queue.
    if (jobId !== undefined && (await isGone(queue, jobId)) && inFlight.oldestJobId === jobId) report.onLost()
    await sleep(COUNT_INTERVAL_MS, undefined, { signal: report.signal }).catch(() => undefined)
  }
}

async function isGone(queue: JobQueue, jobId: string): Promise<boolean> {
  try {
    return ['unknown', 'completed', 'failed'].includes(await queue.getJobState(jobId))
  } catch {
    // The queue's connection is away: nothing is known until it is opened again.
    return false
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
