import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'

/** Stores the block from which an operation resumes if it is interrupted after this transaction. */
export async function putProgress(trx: Trx, operation: string, next: number): Promise<void> {
  await trx
    .insertInto('ledger.operations')
    .values({ name: operation, progress: JSON.stringify({ next }) })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ progress: JSON.stringify({ next }), updated_at: sql`now()` }),
    )
    .execute()
}

/** The block from which an interrupted operation resumes; undefined if there is none. */
export async function findProgress(db: Db, operation: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('ledger.operations')
    .select('progress')
    .where('name', '=', operation)
    .executeTakeFirst()
  return row?.progress.next
}

export async function forgetProgress(db: Db, operation: string): Promise<void> {
  await db.deleteFrom('ledger.operations').where('name', '=', operation).execute()
}

/**
 * Deletes the progress of operations whose names begin with `prefix` and do not end with `suffix`. Another operation
 * has worked on the same data since.
 */
export async function forgetOtherProgress(db: Db, prefix: string, suffix: string): Promise<void> {
  await db
    .deleteFrom('ledger.operations')
    .where(sql<boolean>`starts_with(name, ${prefix})`)
    .where(sql<string>`right(name, char_length(${suffix}))`, '<>', suffix)
    .execute()
}
