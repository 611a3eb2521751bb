import {
  createPostgresBackend,
  DelayedError,
  Queue,
  withBackend,
  Worker,
  type Job,
  type JobsOptions,
  type WorkerOptions,
} from 'bullmq'
import type { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../shared/errors.ts'
import { parseBounded, unreadData, type UnreadData } from './bounded-jobs.ts'
import { checkRedis } from './check-redis.ts'
import { MadeReady, type Readying } from './made-ready.ts'
import { patientRedis, RedisProbe } from './redis-connections.ts'

/** What this service asks of a BullMQ queue, on either backend. */
export interface JobQueue {
  add(name: string, data: unknown, options: JobsOptions): Promise<unknown>
  getJobCounts(
    ...types: ('waiting' | 'active' | 'delayed' | 'completed' | 'failed')[]
  ): Promise<Record<string, number>>
  /** `unknown` where there is no such job. */
  getJobState(jobId: string): Promise<string>
  /** Removes what waits; what is being worked on stays. */
  drain(delayed: boolean): Promise<void>
  resume(): Promise<void>
  removeGlobalConcurrency(): Promise<unknown>
  removeGlobalRateLimit(): Promise<unknown>
  close(): Promise<void>
}

export interface JobWorker {
  /** Takes no more jobs; resolves once the one at work is done. */
  close(): Promise<void>
}

/** A job as a handler sees it: its data is whatever was put in, until a schema says otherwise. */
export interface ReceivedJob {
  id: string | null
  data: unknown
  /** Set where the data were too large to be read, or no JSON; `data` is the same then. */
  unread: UnreadData | undefined
  /** Ends the handling: the job is taken again, here or elsewhere. Never resolves. */
  putBack(): Promise<never>
}

export type JobHandler = (job: ReceivedJob) => Promise<unknown>

/** Where jobs wait: Redis when its URL is given, otherwise Postgres itself. The code above is the same. */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres'
  openQueue(name: string): JobQueue
  openWorker(name: string, handler: JobHandler, options: WorkerSettings): JobWorker
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

/** BullMQ's tables live in a schema of their own. */
export const SCHEMA = 'queue'
/** BullMQ's keys carry this prefix, so that a Redis can be shared with other programs. */
const PREFIX = 'loan-activity'
/** Between two attempts to open a worker. */
const OPENED_AGAIN_MS = 500
const ASKED_AGAIN_MS = 250
/** What a worker waits after a refused connection (ECONNREFUSED). BullMQ's own 15 s would outlast the outage. */
const RETRY = { runRetryDelay: 500 }
/** Seconds after which an idle worker looks by itself: the session on which it listens may be on a server that is no primary any more. */
const LOOK_S = 2
/**
 * Seconds for which a worker on Redis waits to be woken before it looks by itself: a wake-up that was on its way to a lost
 * connection costs no more.
 */
const POLL = { drainDelay: 1 }
/**
 * A queue's pool, and a worker's, that listens on one connection more. One is enough for a pool that BullMQ opens itself: what
 * it waits on is never taken from it.
 */
const CONNECTIONS = 1

/** The parts of node-postgres that BullMQ uses; this folder does not import it (see open-queue-backend.ts). */
export interface PostgresDriver {
  /**
   * The class of BullMQ's connections, which sets their search path, but for the one on which a worker listens: BullMQ makes
   * and watches that itself.
   */
  Client: new () => unknown
  /** A connection's `types`, with JSON parsed by `parse`. */
  jsonParsedBy: (parse: (text: string) => unknown) => unknown
}

export function queueOnPostgres(
  connectionString: string,
  driver: PostgresDriver,
  onError: (error: Error) => void,
): QueueBackend {
  const bull = withBackend(createPostgresBackend)
  const connection = {
    // Poolers reject the startup parameter `options`, in which BullMQ names its schema: an empty one in the URL takes its
    // place, and the class below sets the search path.
    connectionString: withoutOptions(connectionString),
    ...{ schema: SCHEMA, max: CONNECTIONS },
    // As of the service's own: a server that is frozen or gone is told, and not waited for.
    ...{ connectionTimeoutMillis: 10_000, keepAlive: true },
    Client: driver.Client,
  }
  /** BullMQ's own asks again without a pause when a server refuses it, hundreds of times a second. */
  class PatientWorker extends bull.Worker<unknown> {
    protected override async moveToActive(token: string, name?: string): Promise<Job> {
      try {
        return await super.moveToActive(token, name)
      } catch (error) {
        await sleep(ASKED_AGAIN_MS)
        throw error
      }
    }
  }
  return {
    kind: 'postgres',
    openQueue: (name) =>
      queueOnceReady(new MadeReady(() => new bull.Queue(name, { connection }).on('error', onError))),
    openWorker: (name, handler, { mostCharacters, ...settings }) => {
      const types = driver.jsonParsedBy((text) => parseBounded(text, mostCharacters))
      const options = {
        connection: { ...connection, types },
        ...RETRY,
        drainDelay: LOOK_S,
        ...settings,
        autorun: false,
      }
      return workerOnceReady(
        new MadeReady(() => new PatientWorker(name, received(handler), options).on('error', onError)),
        onError,
      )
    },
    check: async () => {
      const queue = new bull.Queue('check', { connection, skipMetasUpdate: true }).on(
        'error',
        () => undefined,
      )
      try {
        await queue.waitUntilReady()
        return []
      } catch (error) {
        throw new Error(
          `the queue's schema cannot be used (run \`npm run migrate\` first): ${messageOf(error)}`,
        )
      } finally {
        await queue.close()
      }
    },
    ask: () => Promise.resolve(),
    close: () => undefined,
  }
}

function withoutOptions(connectionString: string): string {
  return `${connectionString}${connectionString.includes('?') ? '&' : '?'}options=`
}

function queueOnceReady(queue: MadeReady<JobQueue & Readying>): JobQueue {
  return {
    add: async (...job) => (await queue.get()).add(...job),
    getJobCounts: async (...types) => (await queue.get()).getJobCounts(...types),
    getJobState: async (jobId) => (await queue.get()).getJobState(jobId),
    drain: async (delayed) => (await queue.get()).drain(delayed),
    resume: async () => (await queue.get()).resume(),
    removeGlobalConcurrency: async () => (await queue.get()).removeGlobalConcurrency(),
    removeGlobalRateLimit: async () => (await queue.get()).removeGlobalRateLimit(),
    close: () => queue.close(),
  }
}

function workerOnceReady(
  worker: MadeReady<JobWorker & Readying & { run(): Promise<void> }>,
  onError: (error: Error) => void,
): JobWorker {
  const closing = new AbortController()
  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        await (await worker.get()).run()
        return
      } catch (error) {
        onError(error instanceof Error ? error : new Error(messageOf(error)))
        await sleep(OPENED_AGAIN_MS, undefined, { signal: closing.signal }).catch(() => undefined)
      }
    }
  })()
  return {
    close: async () => {
      closing.abort()
      await worker.close()
      await running
    },
  }
}

/** As long as others need to take over. */
const PUT_BACK_MS = 1_000

function received(handler: JobHandler): (job: Job<unknown>, token?: string) => Promise<unknown> {
  return (job, token) => {
    const { data } = job
    // The handler may let go of large data before it is done.
    job.data = null
    return handler({
      id: job.id ?? null,
      data,
      unread: unreadData(data),
      putBack: async () => {
        await job.moveToDelayed(Date.now() + PUT_BACK_MS, token)
        throw new DelayedError()
      },
    })
  }
}

export function queueOnRedis(url: string, onError: (error: Error) => void): QueueBackend {
  // One connection for queues, and one for the workers of each bound.
  const connections = new Map<number | undefined, Redis>()
  const connect = (mostCharacters?: number): Redis => {
    const known = connections.get(mostCharacters)
    if (known !== undefined) return known
    const made = patientRedis(url, mostCharacters).on('error', onError)
    connections.set(mostCharacters, made)
    return made
  }
  const probe = new RedisProbe(url, PREFIX)
  return {
    kind: 'redis',
    openQueue: (name) =>
      queueOnceReady(
        new MadeReady(() => new Queue(name, { connection: connect(), prefix: PREFIX }).on('error', onError)),
      ),
    openWorker: (name, handler, { mostCharacters, ...settings }) => {
      const options = {
        connection: connect(mostCharacters),
        prefix: PREFIX,
        ...RETRY,
        ...POLL,
        ...settings,
        autorun: false,
      }
      return workerOnceReady(
        new MadeReady(() => new Worker(name, received(handler), options).on('error', onError)),
        onError,
      )
    },
    check: () => checkRedis(url),
    ask: () => probe.ask(),
    close: () => {
      for (const connection of connections.values()) connection.disconnect()
      probe.close()
    },
  }
}
