import { Redis, type Command, type RedisOptions } from 'ioredis'
import { parseRedisUrl } from '../../shared/config/redis-url.ts'

/** Changes the reply to a command before its sender sees it. */
export type ReplyFilter = (command: Command, reply: Promise<unknown>) => Promise<unknown>

export type OpenOptions = RedisOptions & {
  /** Milliseconds until the next attempt to connect, also to a Sentinel; null for none. */
  retryStrategy: (attempt: number) => number | null
}

type SendCommand = Redis['sendCommand']

/**
 * Opens a connection to a single server, or to the master that Sentinels name. Its copies filter replies too; BullMQ makes them
 * for workers and events.
 */
export function openRedis(url: string, options: OpenOptions, filter: ReplyFilter): Redis {
  const servers = parseRedisUrl(url)
  if (servers?.kind !== 'sentinel') return new FilteredRedis(url, options, filter)
  const sentinelRetryStrategy = options.retryStrategy
  return new FilteredRedis(null, { ...options, ...servers.options, sentinelRetryStrategy }, filter)
}

class FilteredRedis extends Redis {
  readonly #filter: ReplyFilter

  /** `url` is null where the options name the server. */
  constructor(url: string | null, options: RedisOptions, filter: ReplyFilter) {
    super(...((url === null ? [options] : [url, options]) as [string, RedisOptions]))
    this.#filter = filter
  }

  override sendCommand(...[command, stream]: Parameters<SendCommand>): unknown {
    return filtered(command, super.sendCommand(command, stream), this.#filter)
  }

  override duplicate(override: Partial<RedisOptions> = {}): Redis {
    return new FilteredRedis(null, { ...this.options, ...override }, this.#filter)
  }
}

function filtered(command: Command, reply: unknown, filter: ReplyFilter): unknown {
  if (!(reply instanceof Promise)) return reply
  const changed = filter(command, reply)
  // ioredis sends unanswered commands again after a reconnect, and ignores what that returns.
  changed.catch(() => undefined)
  return changed
}

/**
 * Hides the eviction policy from BullMQ, which would warn on standard error, in its own words, for each queue and worker.
 * `checkRedis` reports the policy once, as the log's other warnings.
 */
export const withoutPolicy: ReplyFilter = (command, reply) =>
  command.name === 'info'
    ? reply.then((text: unknown) => String(text).replace(/^maxmemory_policy:.*$/m, ''))
    : reply
