import { sql, type Insertable, type RawBuilder, type Selectable } from 'kysely'
import { webhookOfQueue } from '../../shared/config/webhooks.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { DeadLettersTable } from '../../shared/db/schema.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import { VOUCHER_QUEUE } from '../../shared/events/handed-in.ts'
import { storablePayload, type StorablePayload } from './storable-json.ts'

/** A permanent refusal and its reason. */
export interface Refusal {
  /** The queue that delivered it, or the other way in, as {@link queueOf} names it. */
  queue: string
  jobId: string | null
  network: string | null
  payload: unknown
  reason: string
  /** Whether it is no voucher, statement or job of any version; then only its beginning is kept. */
  isMalformed?: boolean
  /** The length and beginning of a payload that was never read. */
  unread?: { characters: number; beginning: string } | undefined
}

/** A refusal as it is stored: its payload is cut, so that many can wait in memory. */
export interface Letter extends Omit<Refusal, 'payload' | 'isMalformed' | 'unread'> {
  stored: StorablePayload
}

export type DeadLetter = Selectable<DeadLettersTable>
type DeadLetterRow = Omit<Insertable<DeadLettersTable>, 'queue'> & { queue: string | RawBuilder<string> }

/** Number of dead letters that are kept, the newest ones. */
export const DEAD_LETTERS_KEPT = 10_000
/** The same for each webhook, apart from the others: a receiver that is away pushes out its own alone. */
const KEPT_OF_WEBHOOK = 1_000
const HAND_IN_QUEUES = (['queue', 'import', 'node-store'] satisfies HandInWay[]).map(queueOf)
const MAX_REASON = 1_000
const MAX_JOB_ID = 200
/** Bytes kept of a malformed payload: a flood leaves at most 80 MiB in the table. */
const MALFORMED_KEPT_BYTES = 8 * 1024

/** The `queue` value of refusals that came this way. */
export function queueOf(way: HandInWay): string {
  return way === 'queue' ? VOUCHER_QUEUE : way
}

/** Stores a refusal for inspection, as {@link putDeadLetters} does. */
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
 * Stores refusals for inspection in a few statements, however many they are; a repeated refusal increments its count. A
 * voucher or statement is the same whichever way it comes, because all of them are retried through the queue. It stays
 * under the way it came first. The oldest beyond the limit are deleted.
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
  const queues = new Set(letters.map(({ queue }) => queue))
  for (const queue of queues) {
    if (webhookOfQueue(queue) !== undefined) await keepNewest(db, sql`queue = ${queue}`, KEPT_OF_WEBHOOK)
  }
  // A literal, so that the partial index serves it.
  await keepNewest(db, sql`queue not like 'webhook-%'`, DEAD_LETTERS_KEPT)
}

async function keepNewest(db: Db | Trx, which: RawBuilder<unknown>, count: number): Promise<void> {
  await sql`delete from ledger.dead_letters where ${which} and id <= (
    select id from ledger.dead_letters where ${which} order by id desc offset ${count} limit 1)`.execute(db)
}

/** One row per payload, as an upsert requires. The fixed order keeps two writers from a deadlock. */
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

/** Deletes the dead letters of a payload that is accepted now. */
export async function forgetDeadLetters(db: Db | Trx, digest: string): Promise<void> {
  await db.deleteFrom('ledger.dead_letters').where('digest', '=', digest).execute()
}

/** Newest first, without payloads. */
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

/** The dead letter with its payload; undefined if there is none. */
export async function findDeadLetter(db: Db, id: number): Promise<DeadLetter | undefined> {
  return db.selectFrom('ledger.dead_letters').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Up to `limit` dead letters with greater ids, ascending; pages through all of them. */
export async function getDeadLettersAfter(db: Db, id: number, limit: number): Promise<DeadLetter[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Deletes the dead letters with these ids (null means all) and returns how many there were. */
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

/** Whether a program without Redis ever opened a queue in this database: BullMQ then stores its version. */
export async function hasQueueInPostgres(db: Db): Promise<boolean> {
  const { rows: prepared } = await sql`select 1 where to_regclass('queue.meta') is not null`.execute(db)
  if (prepared.length === 0) return false
  const { rows } = await sql`select 1 from queue.meta limit 1`.execute(db)
  return rows.length > 0
}
