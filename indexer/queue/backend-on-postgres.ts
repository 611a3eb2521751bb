import { withBackend } from 'bullmq'
import { messageOf } from '../../shared/errors.ts'
import type { QueueBackend } from './backend.ts'
import { parseBounded } from './bounded-jobs.ts'
import { MadeReady } from './made-ready.ts'
import { queueOnceReady, runEvents, runWorker } from './open-parts.ts'
import { backendOnPools, type OpenPool } from './postgres-pools.ts'

/** Seconds after which an idle worker polls. Its LISTEN session may be on a server that is no longer the primary. */
const LOOK_S = 2
/** Milliseconds after a refused connection (ECONNREFUSED). BullMQ's own 15 s would outlast the outage. */
const RETRY = { runRetryDelay: 500 }
/** Size of a queue's pool. */
const CONNECTIONS = 1
/** Size of a worker's pool and of a listener's, which listen on one of the two connections. */
const LISTENING_CONNECTIONS = 2
/** Characters of an event's data; ours have some hundreds. */
const MOST_EVENT = 4 * 1024

/** The parts of node-postgres that BullMQ uses; this folder does not import it (see open-queue-backend.ts). */
export interface PostgresDriver {
  /** The class of BullMQ's connections; it sets their search path. */
  Client: new () => unknown
  openPool: OpenPool
  /** A connection's `types`, with JSON parsed by `parse`. */
  jsonParsedBy: (parse: (text: string) => unknown) => unknown
}

export function queueOnPostgres(
  connectionString: string,
  driver: PostgresDriver,
  onError: (error: Error) => void,
): QueueBackend {
  const bull = withBackend(backendOnPools(driver.openPool))
  const connection = {
    ...{ connectionString, max: CONNECTIONS },
    // The same as the service's own connections, so that a frozen server is noticed.
    ...{ connectionTimeoutMillis: 10_000, keepAlive: true },
    Client: driver.Client,
  }
  const boundedTo = (mostCharacters: number): typeof connection => ({
    ...connection,
    ...{ max: LISTENING_CONNECTIONS },
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
