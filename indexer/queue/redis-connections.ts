import type { Redis, RedisOptions } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisPlace } from '../../shared/config/redis-url.ts'
import { messageOf } from '../../shared/errors.ts'
import type { ServerOptions } from '../../shared/redis/redis-arguments.ts'
import { boundedReplies } from './bounded-jobs.ts'
import { openRedis, withoutPolicy } from './queue-redis.ts'

const RECONNECT_MS = 500
const ANSWER_MS = 2_000

/**
 * Codes of a Redis that answers but takes no writes: it is a replica, full, loading, cannot persist or lost its master. The last
 * three are of a Cluster's node whose keys are, or are being moved, elsewhere. Redis before 7 puts the code inside the message of
 * a script.
 */
const REFUSES_WRITES =
  /(^|-)(READONLY|OOM|LOADING|MISCONF|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MOVED|ASK|TRYAGAIN)\b/

/**
 * Connections of queues and workers. Commands outlive any outage and continue within a second of its end. `lazyConnect` is not
 * set: BullMQ's copy for a worker would reject for good when its first attempt fails. `mostCharacters` bounds a job's data.
 */
export function patientRedis(url: string, prefix: string, mostCharacters?: number): Redis {
  const options: ServerOptions = {
    ...RECONNECTING,
    maxRetriesPerRequest: null,
    // Milliseconds. A worker waits one second for jobs, so a silent socket is dead.
    socketTimeout: 10_000,
    maxLoadingRetryTime: 1_000,
    // 2: the command is sent again on the next connection.
    reconnectOnError: ({ message }) => (REFUSES_WRITES.test(message) ? 2 : false),
  }
  return openRedis(
    url,
    prefix,
    options,
    mostCharacters === undefined ? withoutPolicy : boundedReplies(mostCharacters),
  )
}

const RECONNECTING = {
  retryStrategy: () => RECONNECT_MS,
  connectTimeout: 3_000,
  keepAlive: 10_000,
} satisfies RedisOptions

/** Asks on its own connection whether Redis takes writes, and gives up after two seconds. */
export class RedisProbe {
  readonly #client: Redis
  readonly #place: string
  readonly #key: string
  #lastError: Error | undefined

  constructor(url: string, prefix: string) {
    this.#place = `Redis at ${redisPlace(url)}`
    this.#key = `${prefix}:alive`
    this.#client = openRedis(
      url,
      this.#key,
      {
        ...RECONNECTING,
        lazyConnect: true,
        enableOfflineQueue: false,
        commandTimeout: ANSWER_MS,
        socketTimeout: 2 * ANSWER_MS,
      },
      withoutPolicy,
    )
    this.#client.on('error', (error: Error) => (this.#lastError = error))
    this.#client.on('ready', () => (this.#lastError = undefined))
  }

  /** Rejects with the reason, host and port when Redis does not answer or takes no writes. */
  async ask(): Promise<void> {
    try {
      if (this.#client.status === 'wait') await this.#connect()
      if (this.#client.status !== 'ready') throw this.#lastError ?? new Error('no connection')
      await this.#client.set(this.#key, '1', 'PX', 60_000)
    } catch (error) {
      // A command that found no connection says less than the connection's own error.
      const isReply = error instanceof Error && error.name === 'ReplyError'
      const reason = isReply ? error : (this.#lastError ?? error)
      throw new Error(`${this.#place}: ${messageOf(reason)}`, { cause: reason })
    }
  }

  close(): void {
    this.#client.disconnect()
  }

  async #connect(): Promise<void> {
    const limit = new AbortController()
    const connecting = this.#client.connect()
    connecting.catch(() => undefined)
    await Promise.race([
      connecting,
      sleep(ANSWER_MS, undefined, { signal: limit.signal }).then(() => {
        throw new Error(`no connection within ${ANSWER_MS} ms`)
      }),
    ]).finally(() => limit.abort())
  }
}
