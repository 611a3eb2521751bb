import type { Db } from '../shared/db/connect.ts'
import { messageOf } from '../shared/errors.ts'
import type { Logger } from '../shared/log.ts'
import { Repeats } from '../shared/repeats.ts'
import type { NetworkHealth } from './network-state.ts'
import { findQueueBlocker } from './queue-locks.store.ts'
import type { QueueBackend } from './queue/backend.ts'
import { pause } from '../shared/async/pause.ts'

const INTERVAL_MS = 1_000

/** Tells a stuck worker from a queue that does not answer. */
export interface QueueWatch {
  /** Milliseconds since it was last away; 0 while it is. Infinite when it never was. */
  readonly answersForMs: number
  /** Ends once the signal given to {@link watchQueue} aborts. */
  readonly ended: Promise<void>
}

/**
 * Asks the queue every second until `signal` aborts. Every network has a problem while it does not answer or takes no writes:
 * the steps wait, and no writer session ends because of it. `onBack` is called when it answers again.
 */
export function watchQueue(
  backend: QueueBackend,
  db: Db,
  networks: NetworkHealth[],
  { signal, log, onBack }: { signal: AbortSignal; log: Logger; onBack?: () => void },
): QueueWatch {
  let backAtMs = -Infinity
  let isAway = false
  const lines = new Repeats({ write: (line, kind) => log[kind === 'end' ? 'info' : 'warn'](line) })
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const problem = await askQueue(backend, db)
      if (problem !== null) {
        isAway = true
        lines.note(problem)
        for (const network of networks) {
          network.queueWaiting = null
          network.fail('queue', 'queue', problem)
        }
      } else {
        if (isAway) {
          backAtMs = performance.now()
          onBack?.()
        }
        isAway = false
        lines.over()
        for (const network of networks) network.clear('queue')
      }
      await pause(INTERVAL_MS, signal)
    }
  }
  return {
    get answersForMs() {
      return isAway ? 0 : performance.now() - backAtMs
    },
    ended: watch(),
  }
}

/** The queue's problem; null when there is none. */
async function askQueue(backend: QueueBackend, db: Db): Promise<string | null> {
  try {
    await backend.ask()
  } catch (error) {
    return `the queue is away: ${messageOf(error)}`
  }
  if (backend.kind === 'redis') return null
  // The queue is in the database: when that is away, its own watch says so.
  const blocker = await findQueueBlocker(db).catch(() => undefined)
  return blocker === undefined
    ? null
    : `the queue waits for an advisory lock that the database role ${blocker.role} holds (session ${blocker.pid}): end that session`
}
