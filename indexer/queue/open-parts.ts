import { WaitingError, type Job, type QueueEvents, type Worker } from 'bullmq'
import { pause } from '../../shared/async/pause.ts'
import { messageOf } from '../../shared/errors.ts'
import type { JobEvents, JobHandler, JobQueue, JobWorker } from './backend.ts'
import { unreadData } from './bounded-jobs.ts'
import { MadeReady, type Readying } from './made-ready.ts'

/** BullMQ's queues, workers and events as this service uses them on both backends. */

/** Pause between two attempts to open a worker or a listener. */
const OPENED_AGAIN_MS = 500
/** Pause of a worker after an error. BullMQ would ask a server that refuses again at once. */
const PAUSED_MS = 250

type OnError = (error: Error) => void

export function queueOnceReady(queue: MadeReady<JobQueue & Readying>): JobQueue {
  return {
    add: async (...job) => (await queue.get()).add(...job),
    getJobCounts: async (...types) => (await queue.get()).getJobCounts(...types),
    getJobState: async (jobId) => (await queue.get()).getJobState(jobId),
    clean: async (...jobs) => (await queue.get()).clean(...jobs),
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
 * `make` opens a worker with the given processor; it does not run yet. `isPatient`: it pauses after an error, which ioredis does
 * by itself.
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
  // Lets the handler free large data before it is done.
  job.data = null
  return {
    id: job.id ?? null,
    data,
    unread: unreadData(data),
    isLastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    putBack: async () => {
      // The pause never ends, or the worker would take the same job again.
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

/** `make` opens a listener that does not run yet. */
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

/** Opens and runs it, again after a failure, until the returned function is called. */
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
        await pause(OPENED_AGAIN_MS, closing.signal)
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
