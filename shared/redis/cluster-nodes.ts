import { Redis } from 'ioredis'
import * as z from 'zod'
import { addressOf, type ClusterServers, type HostAndPort } from '../config/redis-url.ts'

/** Milliseconds in which a node must answer. */
const ANSWER_MS = 1_000

/** A node is [host, port, …]. Its host is empty, or a question mark, where it is the one that was asked. */
const nodeSchema = z.tuple([z.string().nullable(), z.int()]).rest(z.unknown())
/** The reply to CLUSTER SLOTS: the first and the last slot, their master, and its replicas. */
const rangesSchema = z.array(z.tuple([z.int(), z.int(), nodeSchema]).rest(nodeSchema))
type Ranges = [first: number, last: number, ...nodes: HostAndPort[]][]

/** Asks the nodes of a Redis Cluster, those of the URL and those that they name, which of them has what. */
export class ClusterNodes {
  readonly #servers: ClusterServers
  #learned: HostAndPort[] = []
  #turn = 0

  constructor(servers: ClusterServers) {
    this.#servers = servers
  }

  /** Rejects with the reason of the last node if none answers, and where no node has the key's slot. */
  async masterOf(key: string): Promise<HostAndPort> {
    return this.#ask(async (redis, node) => {
      const [slot, ranges] = await Promise.all([redis.cluster('KEYSLOT', key), this.#rangesOf(redis, node)])
      const master = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2]
      if (master === undefined) throw new Error(`no node of the Cluster has the slot of ${key}`)
      return master
    })
  }

  /** All masters, each once. */
  async masters(): Promise<HostAndPort[]> {
    return this.#ask(async (redis, node) => {
      const ranges = await this.#rangesOf(redis, node)
      const masters = ranges.flatMap(([, , master]) => (master === undefined ? [] : [master]))
      if (masters.length === 0) throw new Error('no node of the Cluster has a slot')
      return [...new Map(masters.map((master) => [addressOf(master), master])).values()]
    })
  }

  async #rangesOf(redis: Redis, asked: HostAndPort): Promise<Ranges> {
    const named = ([host, port]: z.infer<typeof nodeSchema>): HostAndPort => ({
      host: host === null || host === '' || host === '?' ? asked.host : host,
      port,
    })
    const reply = rangesSchema.parse(await redis.cluster('SLOTS'))
    const ranges: Ranges = reply.map(([first, last, ...nodes]) => [first, last, ...nodes.map(named)])
    this.#learned = ranges.flatMap(([, , ...nodes]) => nodes)
    return ranges
  }

  /** Begins with another node each time: one that has just started may name a master of the past. */
  async #ask<T>(question: (redis: Redis, node: HostAndPort) => Promise<T>): Promise<T> {
    const all = [...this.#servers.nodes, ...this.#learned]
    const nodes = [...new Map(all.map((node) => [addressOf(node), node])).values()]
    const first = this.#turn++ % nodes.length
    let reason: unknown
    for (const node of [...nodes.slice(first), ...nodes.slice(0, first)]) {
      const redis = new Redis({
        ...node,
        ...this.#servers.login,
        ...{ connectTimeout: ANSWER_MS, commandTimeout: ANSWER_MS, maxRetriesPerRequest: 0 },
        ...{ lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null },
      })
      let connectionError: unknown
      redis.on('error', (error) => (connectionError = error))
      try {
        return await question(redis, node)
      } catch (error) {
        // A command that found no connection says less than the connection's own error.
        reason = connectionError ?? error
      } finally {
        redis.disconnect()
      }
    }
    throw reason
  }
}
