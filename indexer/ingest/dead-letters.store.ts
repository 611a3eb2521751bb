import { sql, type Insertable, type RawBuilder, type Selectable } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { DeadLettersTable } from '../../shared/db/schema.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import { storablePayload, type StorablePayload } from './storable-json.ts'

/** Something that was refused for good, and why. */
export interface Refusal {
  /** The queue it came through, or the other way in, as {@link queueOf} names it. */
  queue: string
  jobId: string | null
  network: string | null
  payload: unknown
  reason: string
  /** No voucher, statement or job whatever the version: only its beginning is kept. */
  isMalformed?: boolean
  /** The beginning of a payload that was never read. */
  unread?: { characters: number; beginning: string } | undefined
}

/** A refusal as it is kept: its payload is cut, so that many can wait in memory. */
export interface Letter extends Omit<Refusal, 'payload' | 'isMalformed' | 'unread'> {
  stored: StorablePayload
}

export type DeadLetter = Selectable<DeadLettersTable>
type DeadLetterRow = Omit<Insertable<DeadLettersTable>, 'queue'> & { queue: string | RawBuilder<string> }

/** The newest that are kept. */
export const DEAD_LETTERS_KEPT = 10_000
const HAND_IN_QUEUES = (['queue', 'import', 'node-store'] satisfies HandInWay[]).map(queueOf)
const MAX_REASON = 1_000
const MAX_JOB_ID = 200
/** Bytes kept of what is malformed: at most 80 MiB of a flood stay in the table. */
const MALFORMED_KEPT_BYTES = 8 * 1024

/** What a refusal of this way in has as its queue. */
export function queueOf(way: HandInWay): string {
  return way === 'queue' ? VOUCHER_QUEUE : way
}

/** Keeps a refusal to be looked at, as {@link putDeadLetters} does. */
export async function putDeadLetter(db: Db | Trx, refusal: Refusal): Promise<void> {
  await putDeadLetters(db, [letterOf(refusal)])
}

export function letterOf({ payload, isMalformed, unread, ...refusal }: Refusal): Letter {
  const keptBytes = isMalformed === true ? MALFORMED_KEPT_BYTES : undefined
  if (unread === undefined) return { ...refusal, stored: storablePayload(payload, keptBytes) }
  const stored = storablePayload({ beginning: unread.beginning })
  return { ...refusal, stored: { ...stored, bytes: unread.characters, isCut: true } }
}

/**
 * Keeps refusals to be looked at, in two statements however many they are; the same thing refused again counts up. A
 * voucher or statement is the same by whichever way it comes, for all of them are retried through the queue: it stays
 * under the way it came first. The oldest beyond the limit go.
 */
export async function putDeadLetters(db: Db | Trx, letters: Letter[]): Promise<void> {
  if (letters.length === 0) return
  await db
    .insertInto('ledger.dead_letters')
    .values(rowsOf(letters))
    .onConflict((conflict) =>
      conflict.columns(['queue', 'digest']).doUpdateSet((excluded) => ({
        reason: excluded.ref('excluded.reason'),
        job_id: excluded.ref('excluded.job_id'),
        refused_at: sql<Date>`clock_timestamp()`,
        attempts: sql<number>`ledger.dead_letters.attempts + excluded.attempts`,
      })),
    )
    .execute()
  await sql`delete from ledger.dead_letters where id <= (
    select id from ledger.dead_letters order by id desc offset ${DEAD_LETTERS_KEPT} limit 1)`.execute(db)
}

/** One row for each thing, as an upsert wants it; in one order, so that two writers never wait for each other. */
function rowsOf(letters: Letter[]): DeadLetterRow[] {
  const counts = new Map<string, number>()
  const latest = new Map<string, Letter>()
  for (const letter of letters) {
    const way = HAND_IN_QUEUES.includes(letter.queue) ? '' : letter.queue
    const same = `${letter.stored.digest} ${way}`
    counts.set(same, (counts.get(same) ?? 0) + 1)
    latest.set(same, letter)
  }
  return [...latest]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([
        same,
        {
          queue,
          jobId,
          network,
          reason,
          stored: { payload, bytes, isCut, digest },
        },
      ]) => ({
        queue: HAND_IN_QUEUES.includes(queue) ? firstQueueOf(digest, queue) : queue,
        job_id: jobId === null ? null : storable(jobId, MAX_JOB_ID),
        digest,
        network: network === null ? null : storable(network, MAX_JOB_ID),
        payload: JSON.stringify(payload),
        payload_bytes: bytes,
        is_cut: isCut,
        reason: storable(reason, MAX_REASON),
        attempts: counts.get(same) ?? 1,
      }),
    )
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

/** Whether a program without a Redis ever opened a queue in this database: BullMQ notes its version then. */
export async function hasQueueInPostgres(db: Db): Promise<boolean> {
  const { rows: prepared } = await sql`select 1 where to_regclass('queue.meta') is not null`.execute(db)
  if (prepared.length === 0) return false
  const { rows } = await sql`select 1 from queue.meta limit 1`.execute(db)
  return rows.length > 0
}
