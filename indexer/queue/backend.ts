import type { JobsOptions, WorkerOptions } from 'bullmq'
import type { UnreadData } from './bounded-jobs.ts'

/** The part of a BullMQ queue that this service uses, on either backend. */
export interface JobQueue {
  add(name: string, data: unknown, options: JobsOptions): Promise<unknown>
  getJobCounts(
    ...types: ('waiting' | 'active' | 'delayed' | 'completed' | 'failed')[]
  ): Promise<Record<string, number>>
  /** `unknown` where there is no such job. */
  getJobState(jobId: string): Promise<string>
  /** Removes jobs that failed `graceMs` ago or earlier, at most `limit`. */
  clean(graceMs: number, limit: number, type: 'failed'): Promise<unknown>
  resume(): Promise<void>
  removeGlobalConcurrency(): Promise<unknown>
  removeGlobalRateLimit(): Promise<unknown>
  close(): Promise<void>
}

export interface JobWorker {
  /** Takes no more jobs; resolves once the one at work is done. */
  close(): Promise<void>
}

/** Events of a queue's jobs. Anybody who may write to the queue can forge them, so they only save waiting. */
export interface JobEvents {
  onCompleted: (jobId: string, result: unknown) => void
  onFailed: (jobId: string, reason: string) => void
}

/** A job as a handler sees it. Its data are not validated. */
export interface ReceivedJob {
  id: string | null
  data: unknown
  /** Set if the data were too large to be parsed, or no JSON; `data` is the same then. */
  unread: UnreadData | undefined
  /** True if BullMQ makes no attempt after this one. */
  isLastAttempt: boolean
  /** Ends the handling and the worker, and leaves the job to another worker. Never resolves. */
  putBack(): Promise<never>
}

export type JobHandler = (job: ReceivedJob) => Promise<unknown>

/** The server that keeps jobs: Redis if its URL is given, otherwise Postgres. */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres'
  openQueue(name: string): JobQueue
  openWorker(name: string, handler: JobHandler, options: WorkerSettings): JobWorker
  /** Listens until it is closed; events while the queue was away are lost. */
  openEvents(name: string, events: JobEvents): { close(): Promise<void> }
  /** Returns warnings about the server's settings. Rejects when Redis cannot be reached. */
  check(): Promise<string[]>
  /** Rejects with the server's host and port when it does not answer in time, or takes no writes. */
  ask(): Promise<void>
  /** Closes the connections that queues and workers share. */
  close(): void
}

export interface WorkerSettings extends Pick<
  WorkerOptions,
  'concurrency' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount' | 'removeOnComplete' | 'removeOnFail'
> {
  /** Most characters of a job's JSON; a longer one is not parsed. */
  mostCharacters: number
}
