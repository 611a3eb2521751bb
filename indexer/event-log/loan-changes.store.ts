import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

/** Returns the subjects of a network's entries in the blocks after `after`, up to `to`; at most `most`, in any order. */
export async function getSubjectsBetween(
  db: Db,
  network: string,
  after: number,
  to: number,
  most: number,
): Promise<string[]> {
  const { rows } = await sql<{ subject: string }>`
    select distinct subject from ledger.event_log
    where network = ${network} and block_number > ${after} and block_number <= ${to} and subject is not null
    limit ${most}`.execute(db)
  return rows.map(({ subject }) => subject)
}
