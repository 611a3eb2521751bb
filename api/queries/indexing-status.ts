import { NETWORK_ROWS } from '../../shared/db/network-rows.ts'
import type { NetworkRow } from '../../shared/indexing-health.ts'
import { INDEXED, type Indexed } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

export interface IndexingRow {
  records: number
  networks: NetworkRow[]
  indexed: Indexed
}

/** Raw SQL: the rows equal those of `ops status`, and one statement reads rows and count at the same moment. */
const INDEXING_STATUS: Statement = {
  name: 'indexing-status',
  text: `
    select coalesce((select records from projection.fold_state), 0)::float8 as records, coalesce((
      select json_agg(row_to_json(line) order by line.network) from (${NETWORK_ROWS}) as line
    ), '[]'::json) as networks, ${INDEXED}`,
}

/** Cheap, because it counts no rows. */
export async function getIndexingStatus(database: ReadDatabase): Promise<IndexingRow> {
  const [row] = await database.rows<IndexingRow>(INDEXING_STATUS)
  if (row === undefined) throw new Error('the indexing status has no row')
  return row
}
