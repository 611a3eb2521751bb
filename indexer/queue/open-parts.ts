import { WaitingError, type Job, type QueueEvents, type Worker } from 'bullmq'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import type { JobEvents, JobHandler, JobQueue, JobWorker } from './backend.ts'
import { unreadData } from './bounded-jobs.ts'
import { MadeReady, type Readying } from './made-ready.ts'

/** BullMQ's queues, workers and events as this service uses them, whatever is behind them. */

/** Between two attempts to open a worker or to listen. */
const OPENED_AGAIN_MS = 500
/** A worker that met an error takes nothing for so long: a server that refuses is asked again without a pause otherwise. */
const PAUSED_MS = 250

type OnError = (error: Error) => void

export function queueOnceReady(queue: MadeReady<JobQueue & Readying>): JobQueue {
  return {
    add: async (...job) => (await queue.get()).add(...job),
    getJobCounts: async (...types) => (await queue.get()).getJobCounts(...types),
    getJobState: async (jobId) => (await queue.get()).getJobState(jobId),
    resume: async () => (await queue.get()).resume(),
    removeGlobalConcurrency: async () => (await queue.get()).removeGlobalConcurrency(),
    removeGlobalRateLimit: async () => (await queue.get()).removeGlobalRateLimit(),
    close: () => queue.close(),
  }
}

type WorkerLike = Pick<
  Worker<unknown>,
  'waitUntilReady' | 'close' | 'closing' | 'run' | 'pause' | 'resume'
> & { on(event: 'error', listener: OnError): unknown }

/**
 * `make` opens a worker that does not run yet, with the processor it is given. `isPatient`: after an error it pauses; ioredis
 * does that by itself.
 */
export function runWorker(
  make: (process: (job: Job<unknown>, token?: string) => Promise<unknown>) => WorkerLike,
  handler: JobHandler,
  onError: OnError,
  { isPatient }: { isPatient: boolean },
): JobWorker {
  const opened = new MadeReady(() => {
    const worker: WorkerLike = make((job, token) => handler(receivedJob(job, token, worker)))
    worker.on('error', (error) => {
      onError(error)
      if (isPatient) pauseFor(PAUSED_MS, worker)
    })
    return worker
  })
  return { close: runUntilClosed(opened, onError) }
}

const paused = new WeakSet<WorkerLike>()

function pauseFor(ms: number, worker: WorkerLike): void {
  if (paused.has(worker)) return
  paused.add(worker)
  void worker.pause(true)
  setTimeout(() => {
    paused.delete(worker)
    if (worker.closing === undefined) void worker.resume()
  }, ms).unref()
}

function receivedJob(
  job: Job<unknown>,
  token: string | undefined,
  worker: WorkerLike,
): Parameters<JobHandler>[0] {
  const { data } = job
  // The handler may let go of large data before it is done.
  job.data = null
  return {
    id: job.id ?? null,
    data,
    unread: unreadData(data),
    isLastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    putBack: async () => {
      // Paused for good: it would take the same job again.
      paused.add(worker)
      await worker.pause(true)
      await job.moveToWait(token)
      throw new WaitingError()
    },
  }
}

type EventsLike = Pick<QueueEvents, 'waitUntilReady' | 'close' | 'run'> & {
  on(event: 'error', listener: OnError): unknown
  on(event: 'completed', listener: (event: { jobId: string; returnvalue: unknown }) => void): unknown
  on(event: 'failed', listener: (event: { jobId: string; failedReason: string }) => void): unknown
}

/** `make` opens events that are not listened to yet. */
export function runEvents(
  make: () => EventsLike,
  { onCompleted, onFailed }: JobEvents,
  onError: OnError,
): { close(): Promise<void> } {
  const opened = new MadeReady(() => {
    const events = make()
    events.on('error', onError)
    events.on('completed', ({ jobId, returnvalue }) => onCompleted(jobId, returnvalue))
    events.on('failed', ({ jobId, failedReason }) => onFailed(jobId, failedReason))
    return events
  })
  return { close: runUntilClosed(opened, onError) }
}

/** Opens and runs until the function that it returns is called; what fails to open is opened again. */
function runUntilClosed(
  opened: MadeReady<Readying & { run(): Promise<unknown> }>,
  onError: OnError,
): () => Promise<void> {
  const closing = new AbortController()
  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        await (await opened.get()).run()
        return
      } catch (error) {
        onError(error instanceof Error ? error : new Error(messageOf(error)))
        await sleep(OPENED_AGAIN_MS, undefined, { signal: closing.signal }).catch(() => undefined)
      }
    }
  }
  const running = run()
  return async () => {
    closing.abort()
    await opened.close()
    await running
  }
}
