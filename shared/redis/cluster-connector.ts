import { createConnection } from 'node:net'
import { connect } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'
import { pause } from '../async/pause.ts'
import type { ClusterServers } from '../config/redis-url.ts'
import { ClusterNodes } from './cluster-nodes.ts'

type Connect = AbstractConnector['connect']

/** Milliseconds after which a socket that does not close is destroyed. */
const DISCONNECT_MS = 2_000
/** The message of an error that ioredis does not emit. */
const CLOSED = 'Connection is closed.'

/**
 * A connector with which ioredis keeps one connection to the node of a Cluster that has `key`, as it does to the master that
 * Sentinels name. All keys of a queue are on one node. The Cluster client of ioredis has a pool instead, and BullMQ's blocking
 * copies of it can stand still for good after a failover (taskforcesh/bullmq#4138).
 */
export function connectorTo(servers: ClusterServers, key: string): NonNullable<RedisOptions['Connector']> {
  const nodes = new ClusterNodes(servers)
  return class extends ClusterConnector {
    constructor(options: unknown) {
      super(nodes, key, options as RedisOptions)
    }
  }
}

class ClusterConnector extends AbstractConnector {
  readonly #nodes: ClusterNodes
  readonly #key: string
  readonly #options: RedisOptions
  #closing = new AbortController()

  constructor(nodes: ClusterNodes, key: string, options: RedisOptions) {
    super(DISCONNECT_MS)
    this.#nodes = nodes
    this.#key = key
    this.#options = options
  }

  override async connect(...[emit]: Parameters<Connect>): ReturnType<Connect> {
    this.#closing = new AbortController()
    const { signal } = this.#closing
    const { tls } = this.#options
    const master = await this.#findMaster(emit, signal)
    this.stream = tls === undefined ? createConnection(master) : connect({ ...master, ...tls })
    this.stream.once('error', (error: Error) => (this.firstError = error))
    return this.stream
  }

  override disconnect(): void {
    this.#closing.abort()
    super.disconnect()
  }

  /** Tries until it is found, with the pauses of the connection. ioredis takes a rejection for the end of the connection. */
  async #findMaster(emit: Parameters<Connect>[0], signal: AbortSignal): ReturnType<ClusterNodes['masterOf']> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const master = await this.#nodes.masterOf(this.#key)
        if (!signal.aborted) return master
      } catch (error) {
        if (signal.aborted) throw new Error(CLOSED)
        const delayMs = this.#options.retryStrategy?.(attempt)
        if (typeof delayMs !== 'number') throw error
        emit('error', error instanceof Error ? error : new Error(String(error)))
        await pause(delayMs, signal)
      }
      if (signal.aborted) throw new Error(CLOSED)
    }
  }
}
