import type { JobsOptions, WorkerOptions } from 'bullmq'
import type { UnreadData } from './bounded-jobs.ts'

/** What this service asks of a BullMQ queue, on either backend. */
export interface JobQueue {
  add(name: string, data: unknown, options: JobsOptions): Promise<unknown>
  getJobCounts(
    ...types: ('waiting' | 'active' | 'delayed' | 'completed' | 'failed')[]
  ): Promise<Record<string, number>>
  /** `unknown` where there is no such job. */
  getJobState(jobId: string): Promise<string>
  resume(): Promise<void>
  removeGlobalConcurrency(): Promise<unknown>
  removeGlobalRateLimit(): Promise<unknown>
  close(): Promise<void>
}

export interface JobWorker {
  /** Takes no more jobs; resolves once the one at work is done. */
  close(): Promise<void>
}

/** What BullMQ tells of a queue's jobs. Anybody who may write to the queue can say the same: it hastens, and decides nothing. */
export interface JobEvents {
  onCompleted: (jobId: string, result: unknown) => void
  onFailed: (jobId: string, reason: string) => void
}

/** A job as a handler sees it: its data is whatever was put in, until a schema says otherwise. */
export interface ReceivedJob {
  id: string | null
  data: unknown
  /** Set where the data were too large to be read, or no JSON; `data` is the same then. */
  unread: UnreadData | undefined
  /** Whether the job is a failed one when this attempt fails. */
  isLastAttempt: boolean
  /** Ends the handling and the worker: the job waits for another one. Never resolves. */
  putBack(): Promise<never>
}

export type JobHandler = (job: ReceivedJob) => Promise<unknown>

/** Where jobs wait: Redis when its URL is given, otherwise Postgres itself. The code above is the same. */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres'
  openQueue(name: string): JobQueue
  openWorker(name: string, handler: JobHandler, options: WorkerSettings): JobWorker
  /** Listens until it is closed; events while the queue was away are lost. */
  openEvents(name: string, events: JobEvents): { close(): Promise<void> }
  /** What an operator should know of the set-up before it hurts. Rejects when Redis cannot be reached. */
  check(): Promise<string[]>
  /** Rejects when the queue does not answer in time, or does not take what is written to it, with the server's host and port. */
  ask(): Promise<void>
  /** Closes the connections that queues and workers share. */
  close(): void
}

export interface WorkerSettings extends Pick<
  WorkerOptions,
  'concurrency' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount' | 'removeOnComplete' | 'removeOnFail'
> {
  /** Characters of a job's data as JSON; more are not parsed. */
  mostCharacters: number
}
