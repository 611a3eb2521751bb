import { unlessAborted } from '../../shared/async/abort.ts'
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
import { collectMessages, findMessage, giveUp, queueMessages, removeMessage } from './outbox.store.ts'

export interface WebhookRun {
  webhook: Webhook
  db: Db
  backend: QueueBackend
  log: Logger
  signal: AbortSignal
  pace?: Pace
}

export interface Pace extends Attempts {
  /** Milliseconds after which a message whose job may be lost is queued again. */
  queuedAgainMs: number
}

const PACE: Pace = { ...ATTEMPTS, queuedAgainMs: 300_000 }
const LOOK_EVERY_MS = 500

/**
 * Sends the changes of the history to one receiver, until `signal` aborts. Each is in the outbox from the moment that the
 * webhook's place moves behind it until it is delivered or a dead letter, whatever happens to the queue or this process. Never
 * rejects.
 */
export async function runWebhook(run: WebhookRun): Promise<void> {
  const { webhook, backend, log, signal } = run
  const queue = openWebhookQueue(backend, webhook.name)
  const worker = startWebhookWorker(backend, webhook.name, (id, { isLast }) => send(run, id, isLast))
  let problem = ''
  while (!signal.aborted) {
    try {
      // A Redis that is away answers nothing, and nobody waits for it who is to stop.
      await unlessAborted(queueAll(run, queue), signal)
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

async function queueAll({ webhook, db, signal, pace = PACE }: WebhookRun, queue: JobQueue): Promise<void> {
  const add = (id: string): Promise<void> => addWebhookJob(queue, id, pace)
  for (let isMore = true; isMore && !signal.aborted;) {
    const hasMoved = await collectMessages(db, webhook)
    const queued = await queueMessages(db, webhook.name, pace.queuedAgainMs, add)
    isMore = hasMoved || queued > 0
  }
}

/**
 * Rejects for another attempt. An attempt that a stop cut short is never the last one: the message stays in the outbox, from
 * which the next process queues it again.
 */
async function send(run: WebhookRun, id: string, isLast: boolean): Promise<void> {
  const { webhook, db, log, signal } = run
  const { name } = webhook
  const message = await findMessage(db, name, id)
  if (message === undefined) return
  try {
    await deliver(webhook, message, signal)
  } catch (error) {
    if (!isLast || signal.aborted) throw error
    const reason = messageOf(error)
    log.warn({ webhook: name, id }, `given up, see \`ops dead-letters\`: ${reason}`)
    return giveUp(db, name, message, reason)
  }
  await removeMessage(db, name, id)
}
