import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { FoldCounters, ProjectionSchema } from './projection.ts'

export interface FoldState extends FoldCounters {
  /** The last log position that is folded in. */
  foldedPosition: number
}

export async function getFoldState(db: Db | Trx, schema: ProjectionSchema): Promise<FoldState> {
  return db
    .withSchema(schema)
    .selectFrom('fold_state')
    .select(['folded_position as foldedPosition', 'records', 'channels'])
    .executeTakeFirstOrThrow()
}

export async function putFoldState(trx: Trx, schema: ProjectionSchema, state: FoldState): Promise<void> {
  await trx
    .withSchema(schema)
    .updateTable('fold_state')
    .set({
      folded_position: state.foldedPosition,
      records: state.records,
      channels: state.channels,
      version: sql`gen_random_uuid()`,
    })
    .execute()
}
