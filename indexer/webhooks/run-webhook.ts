import { unlessAborted, untilAborted } from '../../shared/async/abort.ts'
import { pause } from '../../shared/async/pause.ts'
import type { Webhook } from '../../shared/config/webhooks.ts'
import type { Db } from '../../shared/db/connect.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import type { JobQueue, QueueBackend } from '../queue/backend.ts'
import { closeParts } from '../queue/close-parts.ts'
import {
  addWebhookJob,
  ATTEMPTS,
  openWebhookQueue,
  startWebhookWorker,
  type Attempts,
} from '../queue/webhook-queue.ts'
import { deliver } from './deliver.ts'
import { newWebhookHealth, type WebhookHealth } from './health.ts'
import { hasExpired } from './message.ts'
import { collectMessages, findMessage, giveUp, queueMessages, removeMessage } from './outbox.store.ts'
import { Refusal } from './refusal.ts'

export interface WebhookRun {
  webhook: Webhook
  db: Db
  backend: QueueBackend
  log: Logger
  signal: AbortSignal
  pace?: Pace
  health?: WebhookHealth | undefined
}

/** How this process deals with a receiver. */
interface Dealing extends Omit<WebhookRun, 'health'> {
  health: WebhookHealth
  /** Until then, by the monotonic clock, the receiver wants no message. */
  quietUntilMs: number
  /** Aborts when the program stops or the receiver is gone. */
  ending: AbortController
}

export interface Pace extends Attempts {
  /** Milliseconds after which a message whose job may be lost is queued again. */
  queuedAgainMs: number
}

const PACE: Pace = { ...ATTEMPTS, queuedAgainMs: 300_000 }
const LOOK_EVERY_MS = 500

/**
 * Sends the changes of the history to one receiver, until `signal` aborts. Each is in the outbox from the moment that the
 * webhook's place moves behind it until it is delivered or a dead letter, whatever happens to the queue or this process. A
 * receiver that is gone gets nothing more from this process; its messages wait. Never rejects.
 */
export async function runWebhook(run: WebhookRun): Promise<void> {
  const { webhook, signal, health = newWebhookHealth(webhook.name) } = run
  const ending = new AbortController()
  const end = (): void => ending.abort()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  await sendUntilEnd({ ...run, health, ending, quietUntilMs: 0 })
  await untilAborted(signal)
}

async function sendUntilEnd(dealing: Dealing): Promise<void> {
  const { webhook, backend, log } = dealing
  const { signal } = dealing.ending
  const queue = openWebhookQueue(backend, webhook.name)
  const worker = startWebhookWorker(backend, webhook.name, (id, { isLast }) => send(dealing, id, isLast))
  let problem = ''
  while (!signal.aborted) {
    try {
      // A Redis that is away answers nothing, and nobody waits for it who is to stop.
      await unlessAborted(queueAll(dealing, queue), signal)
      problem = ''
    } catch (error) {
      const message = messageOf(error)
      if (message !== problem) log.warn({ webhook: webhook.name }, message)
      problem = message
    }
    await pause(LOOK_EVERY_MS, signal)
  }
  await closeParts(worker, queue)
}

async function queueAll({ webhook, db, ending, pace = PACE }: Dealing, queue: JobQueue): Promise<void> {
  const add = (id: string): Promise<void> => addWebhookJob(queue, id, pace)
  for (let isMore = true; isMore && !ending.signal.aborted;) {
    const hasMoved = await collectMessages(db, webhook)
    const queued = await queueMessages(db, webhook.name, pace.queuedAgainMs, add)
    isMore = hasMoved || queued > 0
  }
}

/**
 * Rejects for another attempt. An attempt that a stop cut short, or that found the receiver gone, is never the last one: the
 * message stays in the outbox, from which the next process queues it again.
 */
async function send(dealing: Dealing, id: string, isLast: boolean): Promise<void> {
  const { webhook, db, log, health, ending } = dealing
  const { name } = webhook
  // The jobs of a receiver that asked for a pause wait here, four of them, and the others behind them.
  while (dealing.quietUntilMs > performance.now() && !ending.signal.aborted)
    await pause(dealing.quietUntilMs - performance.now(), ending.signal)
  const message = await findMessage(db, name, id)
  if (message === undefined) return
  if (hasExpired(message, Date.now())) {
    health.onOutcome('expired')
    return removeMessage(db, name, id)
  }
  try {
    await deliver(webhook, message, ending.signal)
  } catch (error) {
    if (error instanceof Refusal) heed(error, dealing)
    const isGivenUp = isLast && !ending.signal.aborted
    health.onOutcome(isGivenUp ? 'given_up' : 'failed')
    if (!isGivenUp) throw error
    const reason = messageOf(error)
    log.warn({ webhook: name, id }, `given up, see \`ops dead-letters\`: ${reason}`)
    return giveUp(db, name, message, reason)
  }
  health.onOutcome('delivered')
  await removeMessage(db, name, id)
}

function heed({ isGone, pauseMs }: Refusal, dealing: Dealing): void {
  dealing.quietUntilMs = Math.max(dealing.quietUntilMs, performance.now() + pauseMs)
  if (!isGone || dealing.ending.signal.aborted) return
  const { health, log, webhook, ending } = dealing
  health.isDisabled = true
  log.error(
    { webhook: webhook.name },
    'disabled until this program starts again: the receiver answered 410 Gone; its messages wait',
  )
  ending.abort()
}
