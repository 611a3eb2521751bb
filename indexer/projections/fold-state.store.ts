import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import type { FoldCounters, ProjectionSchema } from './projection.ts'

export interface FoldState extends FoldCounters {
  /** The last position of the log that is folded in. */
  foldedPosition: number
}

interface FoldStateRow {
  folded_position: number
  records: number
  channels: number
}

export async function getFoldState(db: Db | Trx, schema: ProjectionSchema): Promise<FoldState> {
  const { rows } = await sql<FoldStateRow>`select * from ${sql.table(`${schema}.fold_state`)}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error(`${schema}.fold_state has no row`)
  return {
    foldedPosition: row.folded_position,
    records: row.records,
    channels: row.channels,
  }
}

export async function putFoldState(trx: Trx, schema: ProjectionSchema, state: FoldState): Promise<void> {
  await sql`
    update ${sql.table(`${schema}.fold_state`)} set folded_position = ${state.foldedPosition},
      records = ${state.records}, channels = ${state.channels}, version = gen_random_uuid()`.execute(trx)
}
