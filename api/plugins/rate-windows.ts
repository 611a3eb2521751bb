import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { FastifyBaseLogger } from 'fastify'
import { messageOf } from '../../shared/errors.ts'
import { isCluster, redisArguments } from '../../shared/redis/redis-arguments.ts'

const PREFIX = 'loan-activity:rate'
/** Clients counted in memory, about 200 bytes each. The client whose last request is oldest is dropped first. */
const MOST_CLIENTS = 20_000
/** A request waits at most this long for Redis. */
const REDIS_WITHIN_MS = 100
/** Redis is not used for this long after a failure. */
const LEAVE_ALONE_MS = 1000
const RECONNECT_AT_MOST_MS = 2000

interface Count {
  current: number
  /** Milliseconds until the window ends. */
  ttl: number
}

/** Counts each client's requests in fixed windows: in Redis where it is configured and answers, else in memory. */
export class RateWindows {
  private readonly memory = new LRUCache<string, { count: number; endsMs: number }>({ max: MOST_CLIENTS })
  private readonly redis: Redis | undefined
  /** In braces on a Cluster, so that one node has all counts. */
  private readonly prefix: string = PREFIX
  private leaveAloneUntilMs = 0
  private isAway = false

  constructor(
    redisUrl: string | undefined,
    private readonly log: FastifyBaseLogger,
  ) {
    if (redisUrl === undefined) return
    if (isCluster(redisUrl)) this.prefix = `{${PREFIX}}`
    this.redis = openRedis(redisUrl, this.prefix)
    this.redis.on('error', (error: Error) => this.lose(error))
  }

  /** Returns a store class, because @fastify/rate-limit constructs the store itself. */
  storeClass(): FastifyRateLimitStoreCtor {
    const count = (key: string, windowMs: number): Promise<Count> => this.count(key, windowMs)
    return class implements FastifyRateLimitStore {
      incr(key: string, callback: (error: Error | null, result?: Count) => void, windowMs: number): void {
        count(key, windowMs).then(
          (result) => callback(null, result),
          (error: unknown) => callback(error instanceof Error ? error : new Error(messageOf(error))),
        )
      }

      /** All routes share one count. */
      child(): FastifyRateLimitStore {
        return this
      }
    }
  }

  /** True when the next request is counted in Redis, for all API processes together. */
  get isShared(): boolean {
    return this.redis?.status === 'ready' && performance.now() >= this.leaveAloneUntilMs
  }

  close(): void {
    this.redis?.disconnect()
  }

  private async count(key: string, windowMs: number): Promise<Count> {
    if (this.redis === undefined || !this.isShared) return this.countInMemory(key, windowMs)
    try {
      const result = await countInRedis(this.redis, `${this.prefix}:${key}`, windowMs)
      this.find()
      return result
    } catch (error) {
      this.lose(error)
      return this.countInMemory(key, windowMs)
    }
  }

  private countInMemory(key: string, windowMs: number): Count {
    const nowMs = performance.now()
    let window = this.memory.get(key)
    if (window === undefined || window.endsMs <= nowMs) {
      window = { count: 0, endsMs: nowMs + windowMs }
      this.memory.set(key, window)
    }
    window.count += 1
    return { current: window.count, ttl: Math.floor(window.endsMs - nowMs) }
  }

  private lose(error: unknown): void {
    this.leaveAloneUntilMs = performance.now() + LEAVE_ALONE_MS
    if (this.isAway) return
    this.isAway = true
    this.log.warn(
      { error: messageOf(error) },
      'Redis (REDIS_URL) is away: each API counts requests for the rate limit by itself',
    )
  }

  private find(): void {
    if (!this.isAway) return
    this.isAway = false
    this.log.info('Redis (REDIS_URL) is back: the rate limit counts for all APIs together')
  }
}

function openRedis(url: string, prefix: string): Redis {
  const options = {
    ...{ connectionName: 'loan-activity api', enableOfflineQueue: false, maxRetriesPerRequest: 0 },
    commandTimeout: REDIS_WITHIN_MS,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, RECONNECT_AT_MOST_MS),
  }
  return new Redis(...redisArguments(url, prefix, options))
}

/** Takes one round trip. The first request of a window creates the key, which expires by itself. */
async function countInRedis(redis: Redis, key: string, windowMs: number): Promise<Count> {
  const results = await redis.multi().set(key, 0, 'PX', windowMs, 'NX').incr(key).pttl(key).exec()
  const [, [error, current] = [], [, ttl] = []] = results ?? []
  if (error) throw error
  if (typeof current !== 'number' || typeof ttl !== 'number') throw new Error('Redis did not count')
  return { current, ttl: Math.max(ttl, 0) }
}
