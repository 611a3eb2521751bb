import type { RedisOptions } from 'ioredis'
import { parseRedisUrl } from '../config/redis-url.ts'
import { connectorTo } from './cluster-connector.ts'

export type ServerOptions = RedisOptions & {
  /** Milliseconds until the next attempt to connect, also to a Sentinel or a Cluster's nodes; null for none. */
  retryStrategy: (attempt: number) => number | null
}

/** The arguments of `new Redis`. */
export type RedisArguments = [url: string, options: RedisOptions]

/** Stands for the URL if the options lead to the server: ioredis skips a null, but its types have none. */
export const NO_URL = null as unknown as string

/**
 * Leads to a single server, to the master that Sentinels name, or to the node of a Cluster that has the keys with this prefix.
 */
export function redisArguments(url: string, prefix: string, options: ServerOptions): RedisArguments {
  const servers = parseRedisUrl(url)
  if (servers?.kind === 'sentinel')
    return [NO_URL, { ...options, ...servers.options, sentinelRetryStrategy: options.retryStrategy }]
  if (servers?.kind !== 'cluster') return [url, options]
  // A former master answers so, and does not close the connection.
  const reconnectOnError = ({ message }: Error): boolean => /^(MOVED|CLUSTERDOWN) /.test(message)
  return [NO_URL, { reconnectOnError, ...options, ...servers.login, Connector: connectorTo(servers, prefix) }]
}

/** Whether keys that are used together need a common part in braces, so that one node has them all. */
export function isCluster(url: string): boolean {
  return parseRedisUrl(url)?.kind === 'cluster'
}
