import { sql, type RawBuilder, type Selectable } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { DeadLettersTable } from '../../shared/db/schema.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import { storablePayload } from './storable-json.ts'

/** Something that was refused for good: whatever it was, and why. */
export interface Refusal {
  /** The queue it came through, or the other way in, as {@link queueOf} names it. */
  queue: string
  jobId: string | null
  network: string | null
  payload: unknown
  reason: string
}

export type DeadLetter = Selectable<DeadLettersTable>

/** The newest that are kept. */
export const DEAD_LETTERS_KEPT = 10_000
const HAND_IN_QUEUES = (['queue', 'import', 'node-store'] satisfies HandInWay[]).map(queueOf)
const MAX_REASON = 1_000
const MAX_JOB_ID = 200

/** What a refusal of this way in has as its queue. */
export function queueOf(way: HandInWay): string {
  return way === 'queue' ? VOUCHER_QUEUE : way
}

/**
 * Keeps a refusal to be looked at; the same thing refused again counts up. A voucher or statement is the same by
 * whichever way it comes, for all of them are retried through the queue: it stays under the way it came first. The
 * oldest beyond the limit go.
 */
export async function putDeadLetter(
  db: Db | Trx,
  { queue, jobId, network, payload, reason }: Refusal,
): Promise<void> {
  const stored = storablePayload(payload)
  await db
    .insertInto('ledger.dead_letters')
    .values({
      queue: HAND_IN_QUEUES.includes(queue) ? firstQueueOf(stored.digest, queue) : queue,
      job_id: jobId === null ? null : storable(jobId, MAX_JOB_ID),
      digest: stored.digest,
      network: network === null ? null : storable(network, MAX_JOB_ID),
      payload: JSON.stringify(stored.payload),
      payload_bytes: stored.bytes,
      is_cut: stored.isCut,
      reason: storable(reason, MAX_REASON),
    })
    .onConflict((conflict) =>
      conflict.columns(['queue', 'digest']).doUpdateSet((excluded) => ({
        reason: excluded.ref('excluded.reason'),
        job_id: excluded.ref('excluded.job_id'),
        refused_at: sql<Date>`clock_timestamp()`,
        attempts: sql<number>`ledger.dead_letters.attempts + 1`,
      })),
    )
    .execute()
  await sql`delete from ledger.dead_letters where id <= (
    select id from ledger.dead_letters order by id desc offset ${DEAD_LETTERS_KEPT} limit 1)`.execute(db)
}

function firstQueueOf(digest: string, queue: string): RawBuilder<string> {
  return sql<string>`coalesce((select queue from ledger.dead_letters
    where digest = ${digest} and queue = any(${HAND_IN_QUEUES}::text[]) order by id limit 1), ${queue})`
}

/** What was refused before and is good now is no dead letter any more. */
export async function forgetDeadLetters(db: Db | Trx, digest: string): Promise<void> {
  await db.deleteFrom('ledger.dead_letters').where('digest', '=', digest).execute()
}

/** The newest first, without their payloads. */
export async function getDeadLetters(
  db: Db,
  { queue, limit }: { queue?: string | undefined; limit: number },
): Promise<Omit<DeadLetter, 'payload'>[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .select([
      'id',
      'queue',
      'job_id',
      'digest',
      'network',
      'payload_bytes',
      'is_cut',
      'reason',
      'refused_at',
      'attempts',
    ])
    .$if(queue !== undefined, (query) => query.where('queue', '=', queue ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

export async function countDeadLetters(db: Db): Promise<{ queue: string; count: number }[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .select(['queue', sql<number>`count(*)`.as('count')])
    .groupBy('queue')
    .orderBy('queue')
    .execute()
}

/** With its payload. */
export async function findDeadLetter(db: Db, id: number): Promise<DeadLetter | undefined> {
  return db.selectFrom('ledger.dead_letters').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Up to `limit` with greater ids, ascending: for going through all of them. */
export async function getDeadLettersAfter(db: Db, id: number, limit: number): Promise<DeadLetter[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** How many there were of `ids`; null means all. */
export async function dropDeadLetters(db: Db, ids: number[] | null): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('ledger.dead_letters')
    .$if(ids !== null, (query) => query.where('id', 'in', ids ?? []))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

function storable(text: string, length: number): string {
  return text.slice(0, length).replaceAll(/[\p{Cc}\p{Cs}]/gu, '\u{FFFD}')
}

/** Whether an indexer without a Redis ever made its queue in this database. */
export async function hasQueueInPostgres(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_namespace where nspname = 'queue'`.execute(db)
  return rows.length > 0
}
