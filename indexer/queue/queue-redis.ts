import { Redis, type Command, type RedisOptions } from 'ioredis'
import {
  NO_URL,
  redisArguments,
  type RedisArguments,
  type ServerOptions,
} from '../../shared/redis/redis-arguments.ts'

/** Changes the reply to a command before its sender sees it. */
export type ReplyFilter = (command: Command, reply: Promise<unknown>) => Promise<unknown>

type SendCommand = Redis['sendCommand']

/**
 * Opens a connection to the server that has the keys with this prefix. Its copies filter replies too; BullMQ makes them for
 * workers and events.
 */
export function openRedis(url: string, prefix: string, options: ServerOptions, filter: ReplyFilter): Redis {
  return new FilteredRedis(redisArguments(url, prefix, options), filter)
}

class FilteredRedis extends Redis {
  readonly #filter: ReplyFilter

  constructor(servers: RedisArguments, filter: ReplyFilter) {
    super(...servers)
    this.#filter = filter
  }

  override sendCommand(...[command, stream]: Parameters<SendCommand>): unknown {
    return filtered(command, super.sendCommand(command, stream), this.#filter)
  }

  override duplicate(override: Partial<RedisOptions> = {}): Redis {
    return new FilteredRedis([NO_URL, { ...this.options, ...override }], this.#filter)
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
