import { CompiledQuery, sql } from 'kysely'
import * as z from 'zod'
import { webhookOfQueue, webhookQueueName, type Webhook } from '../../shared/config/webhooks.ts'
import type { Db } from '../../shared/db/connect.ts'
import {
  RECORD_EVENTS,
  recordEventsOf,
  valuesOf,
  type RecordEventsRow,
} from '../../shared/db/record-events.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { isBefore, type Cursor, type RecordEvent } from '../../shared/events/record-event.ts'
import { getLastPosition } from '../event-log/read-log.ts'
import { countDeadLetters, putDeadLetter } from '../ingest/dead-letters.store.ts'
import { isWanted, messageOfEvent, type Message } from './message.ts'
import type { WebhookFigures } from './metrics.ts'

/** A receiver that is away leaves its place in the log where it is once so many wait. */
export const MOST_WAITING = 1_000
const QUEUED_AT_ONCE = 200

/**
 * Writes the next messages of a webhook to its outbox and moves its place behind them, in one transaction. Returns whether
 * there may be more. Does nothing while another process does it.
 */
export async function collectMessages(db: Db, webhook: Webhook): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const after = await lockPlace(trx, webhook)
    if (after === undefined || (await countWaiting(trx, webhook.name)) >= MOST_WAITING) return false
    const { events, next } = await getRecordEvents(trx, after)
    if (!isBefore(after, next)) return false
    await putMessages(
      trx,
      webhook.name,
      events.filter((event) => isWanted(webhook, event)),
    )
    await trx
      .updateTable('ledger.webhook_cursors')
      .set({ position: next.position, skip: next.skip })
      .where('name', '=', webhook.name)
      .execute()
    return true
  })
}

/** Returns the next changes of the history after a place, in order. */
export async function getRecordEvents(
  db: Db | Trx,
  after: Cursor,
): Promise<{ events: RecordEvent[]; next: Cursor }> {
  const query = CompiledQuery.raw(RECORD_EVENTS, valuesOf(after, Number.MAX_SAFE_INTEGER))
  const { rows } = await db.executeQuery<RecordEventsRow>(query)
  return recordEventsOf(after, rows[0])
}

/** Locks the webhook's place until the transaction ends; undefined while another process has it. */
async function lockPlace(trx: Trx, { name, from }: Webhook): Promise<Cursor | undefined> {
  const lock = (): Promise<Cursor | undefined> =>
    trx
      .selectFrom('ledger.webhook_cursors')
      .select(['position', 'skip'])
      .where('name', '=', name)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst()
  const locked = await lock()
  if (locked !== undefined) return locked
  await trx
    .insertInto('ledger.webhook_cursors')
    .values({ name, position: from === 'now' ? await getLastPosition(trx) : 0, skip: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return lock()
}

/** All webhooks that ever ran, configured still or not. */
export async function getWebhookNames(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('ledger.webhook_cursors').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name)
}

export async function countWaiting(db: Db | Trx, webhook: string): Promise<number> {
  const { count } = await db
    .selectFrom('ledger.webhook_outbox')
    .select(sql<number>`count(*)`.as('count'))
    .where('webhook', '=', webhook)
    .executeTakeFirstOrThrow()
  return count
}

/** Rejects while the database does not answer. */
export async function askDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/** Counts the messages of these webhooks, which are at most some thousand. */
export async function getWebhookFigures(db: Db, webhooks: readonly string[]): Promise<WebhookFigures[]> {
  const waiting = await db
    .selectFrom('ledger.webhook_outbox')
    .select('webhook')
    .select(sql<number>`count(*)`.as('count'))
    .select(sql<number>`extract(epoch from clock_timestamp() - min(written_at))::float8`.as('ageS'))
    .groupBy('webhook')
    .execute()
  const letters = await countDeadLetters(db)
  return webhooks.map((webhook) => {
    const own = waiting.find((one) => one.webhook === webhook)
    const deadLetters = letters.find(({ queue }) => queue === webhookQueueName(webhook))?.count ?? 0
    return { webhook, waiting: own?.count ?? 0, oldestAgeS: own?.ageS ?? null, deadLetters }
  })
}

async function putMessages(trx: Trx, webhook: string, events: RecordEvent[]): Promise<void> {
  if (events.length === 0) return
  const entries = await trx
    .selectFrom('ledger.event_log')
    .select(['position', 'recorded_at'])
    .where('position', 'in', [...new Set(events.map(({ position }) => position))])
    .execute()
  const times = new Map(entries.map(({ position, recorded_at: at }) => [position, at]))
  const rows = events.map((event) => {
    const { position } = event
    const at = times.get(position)
    if (at === undefined) throw new Error(`the log has no entry ${position}`)
    return { webhook, position, ...messageOfEvent(event, at) }
  })
  await trx
    .insertInto('ledger.webhook_outbox')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Calls `add` for each message that was not queued in the last `againMs` milliseconds, some at a time. A process that is
 * killed in between queues them again, and so does one whose queue lost its jobs. Returns how many there were.
 */
export async function queueMessages(
  db: Db,
  webhook: string,
  againMs: number,
  add: (id: string) => Promise<void>,
): Promise<number> {
  const due = await db
    .selectFrom('ledger.webhook_outbox')
    .select('id')
    .where('webhook', '=', webhook)
    .where(
      sql<boolean>`queued_at is null or queued_at < clock_timestamp() - ${againMs} * interval '1 millisecond'`,
    )
    .orderBy('position')
    .limit(QUEUED_AT_ONCE)
    .execute()
  if (due.length === 0) return 0
  for (const { id } of due) await add(id)
  await db
    .updateTable('ledger.webhook_outbox')
    .set({ queued_at: sql<Date>`clock_timestamp()` })
    .where('webhook', '=', webhook)
    .where(
      'id',
      'in',
      due.map(({ id }) => id),
    )
    .execute()
  return due.length
}

/** Returns a message that waits; undefined if it was delivered or given up, or never was. */
export async function findMessage(db: Db, webhook: string, id: string): Promise<Message | undefined> {
  return db
    .selectFrom('ledger.webhook_outbox')
    .select(['id', 'body'])
    .where('webhook', '=', webhook)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function removeMessage(db: Db | Trx, webhook: string, id: string): Promise<void> {
  await db.deleteFrom('ledger.webhook_outbox').where('webhook', '=', webhook).where('id', '=', id).execute()
}

/** Moves a message to the dead letters. */
export async function giveUp(db: Db, webhook: string, { id, body }: Message, reason: string): Promise<void> {
  await inTransaction(db, async (trx) => {
    const payload = { webhook, id, body: JSON.parse(body) as unknown }
    const letter = { queue: webhookQueueName(webhook), jobId: id, network: null, payload, reason }
    await putDeadLetter(trx, letter)
    await removeMessage(trx, webhook, id)
  })
}

const payloadSchema = z.object({
  id: z.string(),
  body: z.looseObject({ data: z.looseObject({ position: z.int() }) }),
})

/** Moves a dead letter back into the outbox of its webhook. Returns false if it is none that {@link giveUp} made. */
export async function sendAgain(
  db: Db,
  letter: { id: number; queue: string; payload: unknown },
): Promise<boolean> {
  const webhook = webhookOfQueue(letter.queue)
  const parsed = payloadSchema.safeParse(letter.payload)
  if (webhook === undefined || !parsed.success) return false
  const { id, body } = parsed.data
  await inTransaction(db, async (trx) => {
    await trx
      .insertInto('ledger.webhook_outbox')
      .values({ webhook, id, position: body.data.position, body: JSON.stringify(body) })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await trx.deleteFrom('ledger.dead_letters').where('id', '=', letter.id).execute()
  })
  return true
}
