import { sql } from 'kysely'
import type { Db } from '../shared/db/connect.ts'
import { QueueClient } from '../shared/db/queue-client.ts'
import { inTransaction } from '../shared/db/transaction.ts'
import { MAX_ENVELOPE } from './queue/envelope.ts'
import { prepareQueueSchema } from './queue/prepare-queue.ts'
import { MOST_VOUCHER_CHARACTERS } from './queue/voucher-worker.ts'

const CONSTRAINT = 'bounded_job'
/** A jsonb text has a space after each colon and comma. */
const SPACES = 1_024

/**
 * Prepares the schema of the queue on Postgres, as the database's owner: programs that use the queue need no DDL rights.
 * A check bounds each job on the server, so that whoever may write to the queue cannot fill a worker's memory.
 */
export async function prepareQueue(db: Db, databaseUrl: string): Promise<void> {
  await prepareQueueSchema(databaseUrl, { Client: QueueClient })
  const most = sql.raw(
    `case queue when 'vouchers' then ${MOST_VOUCHER_CHARACTERS} else ${MAX_ENVELOPE} end + ${SPACES}`,
  )
  const rule = sql`
    octet_length(data::text) <= ${most} and octet_length(opts::text) <= 16384
    and octet_length(name) <= 1024 and octet_length(id) <= 1024`
  await inTransaction(db, async (trx) => {
    // One of several that migrate at once adds the check.
    await sql`lock table queue.job in access exclusive mode`.execute(trx)
    const { rows } = await sql`select 1 from pg_constraint
      where conname = ${CONSTRAINT} and conrelid = 'queue.job'::regclass`.execute(trx)
    if (rows.length > 0) return
    await sql`delete from queue.job where not (${rule})`.execute(trx)
    await sql`alter table queue.job add constraint ${sql.id(CONSTRAINT)} check (${rule})`.execute(trx)
  })
}
