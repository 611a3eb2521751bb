import { createPostgresBackend, withBackend } from 'bullmq'
import { messageOf } from '../../shared/errors.ts'
import type { QueueBackend } from './backend.ts'
import { parseBounded } from './bounded-jobs.ts'
import { MadeReady } from './made-ready.ts'
import { queueOnceReady, runEvents, runWorker } from './open-parts.ts'

/** BullMQ's tables live in a schema of their own. */
export const SCHEMA = 'queue'
/**
 * Seconds after which an idle worker looks by itself, and listening looks again: the session on which it listens may be on a
 * server that is no primary any more.
 */
const LOOK_S = 2
/** Milliseconds after a refused connection (ECONNREFUSED). BullMQ's own 15 s would outlast the outage. */
const RETRY = { runRetryDelay: 500 }
/**
 * A queue's pool, and a worker's, which listens on one connection more. One is enough for a pool that BullMQ opens itself: what
 * it waits on is never taken from it.
 */
const CONNECTIONS = 1
/** Characters of an event's data; ours have some hundreds. */
const MOST_EVENT = 4 * 1024

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
    connectionString: `${connectionString}${connectionString.includes('?') ? '&' : '?'}options=`,
    ...{ schema: SCHEMA, max: CONNECTIONS },
    // As for the service's own connections: one to a server that is frozen or gone is given up.
    ...{ connectionTimeoutMillis: 10_000, keepAlive: true },
    Client: driver.Client,
  }
  const boundedTo = (mostCharacters: number): typeof connection => ({
    ...connection,
    ...{ types: driver.jsonParsedBy((text) => parseBounded(text, mostCharacters)) },
  })
  return {
    kind: 'postgres',
    openQueue: (name) =>
      queueOnceReady(new MadeReady(() => new bull.Queue(name, { connection }).on('error', onError))),
    openWorker: (name, handler, { mostCharacters, ...settings }) => {
      const looks = { ...RETRY, drainDelay: LOOK_S }
      const options = { connection: boundedTo(mostCharacters), ...looks, ...settings, autorun: false }
      return runWorker((process) => new bull.Worker<unknown>(name, process, options), handler, onError, {
        isPatient: true,
      })
    },
    openEvents: (name, events) => {
      const options = { connection: boundedTo(MOST_EVENT), blockingTimeout: LOOK_S * 1_000, autorun: false }
      return runEvents(() => new bull.QueueEvents(name, options), events, onError)
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
