import { Queue, QueueEvents, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { QueueBackend } from './backend.ts'
import { checkRedis } from './check-redis.ts'
import { madeOnce } from './made-once.ts'
import { MadeReady } from './made-ready.ts'
import { queueOnceReady, runEvents, runWorker } from './open-parts.ts'
import { queuePrefix } from './queue-prefix.ts'
import { patientRedis, RedisProbe } from './redis-connections.ts'

/**
 * `drainDelay`: seconds after which an idle worker polls, because a wake-up can be lost with its connection.
 * `runRetryDelay`: milliseconds after a refused connection; BullMQ's own 15 s would outlast the outage.
 */
const LOOKS = { drainDelay: 1, runRetryDelay: 500 }
/** Characters of an event's field; ours have some hundreds. */
const MOST_EVENT = 4 * 1024
/** Milliseconds of one wait for events. */
const LISTEN_MS = 2_000

export function queueOnRedis(url: string, onError: (error: Error) => void): QueueBackend {
  // For each prefix one connection for queues, and one for the workers or the events of each bound.
  const connections = new Map<string, Redis>()
  // Only those nodes of a Cluster are asked that have queues of this program.
  const probes = new Map<string, RedisProbe>()
  let spareProbe: RedisProbe | undefined
  const connect = (name: string, mostCharacters?: number): { connection: Redis; prefix: string } => {
    const prefix = queuePrefix(url, name)
    madeOnce(probes, prefix, () => new RedisProbe(url, prefix))
    const connection = madeOnce(connections, `${prefix} ${mostCharacters ?? ''}`, () =>
      patientRedis(url, prefix, mostCharacters).on('error', onError),
    )
    return { connection, prefix }
  }
  return {
    kind: 'redis',
    openQueue: (name) =>
      queueOnceReady(new MadeReady(() => new Queue(name, connect(name)).on('error', onError))),
    openWorker: (name, handler, { mostCharacters, ...settings }) => {
      const options = { ...connect(name, mostCharacters), ...LOOKS, ...settings, autorun: false }
      return runWorker((process) => new Worker<unknown>(name, process, options), handler, onError, {
        isPatient: false,
      })
    },
    openEvents: (name, events) => {
      const options = { ...connect(name, MOST_EVENT), blockingTimeout: LISTEN_MS, autorun: false }
      return runEvents(() => new QueueEvents(name, options), events, onError)
    },
    check: () => checkRedis(url),
    async ask() {
      if (probes.size > 0) await Promise.all([...probes.values()].map((probe) => probe.ask()))
      else await (spareProbe ??= new RedisProbe(url, queuePrefix(url, 'alive'))).ask()
    },
    close: () => {
      for (const connection of connections.values()) connection.disconnect()
      for (const probe of probes.values()) probe.close()
      spareProbe?.close()
    },
  }
}
