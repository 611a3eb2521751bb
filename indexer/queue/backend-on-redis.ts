import { Queue, QueueEvents, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { QueueBackend } from './backend.ts'
import { checkRedis } from './check-redis.ts'
import { MadeReady } from './made-ready.ts'
import { queueOnceReady, runEvents, runWorker } from './open-parts.ts'
import { patientRedis, RedisProbe } from './redis-connections.ts'

/** BullMQ's keys carry this prefix, so that a Redis can be shared with other programs. */
export const PREFIX = 'loan-activity'
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
  // One connection for queues, and one for the workers or the events of each bound.
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
      const common = { connection: connect(mostCharacters), prefix: PREFIX }
      const options = { ...common, ...LOOKS, ...settings, autorun: false }
      return runWorker((process) => new Worker<unknown>(name, process, options), handler, onError, {
        isPatient: false,
      })
    },
    openEvents: (name, events) => {
      const common = { connection: connect(MOST_EVENT), prefix: PREFIX }
      const options = { ...common, blockingTimeout: LISTEN_MS, autorun: false }
      return runEvents(() => new QueueEvents(name, options), events, onError)
    },
    check: () => checkRedis(url),
    ask: () => probe.ask(),
    close: () => {
      for (const connection of connections.values()) connection.disconnect()
      probe.close()
    },
  }
}
