import type { ReadDatabase, Statement } from './read-database.ts'

/** What the database knows of a network. Heights are block numbers, times Unix seconds of the chain's own clock. */
export interface NetworkRow {
  network: string
  blockchain: string | null
  networkId: string | null
  /** As the indexer told it; null when none is configured to. */
  state: string | null
  problem: string | null
  /** The newest block to index. */
  head: number | null
  headTimeS: number | null
  indexed: number | null
  indexedTimeS: number | null
  finalized: number | null
  queueWaiting: number | null
  queueFailed: number | null
  workerHealthy: boolean | null
  /** Seconds since the indexer last told its state, by the database's clock; null when none is configured to. */
  observedAgoS: number | null
  /** Seconds since the last block was written, by the database's clock; null before the first. */
  movedAgoS: number | null
  /** The database's clock, Unix seconds. */
  nowS: number
}

export interface IndexingRow {
  records: number
  networks: NetworkRow[]
}

/** float8 holds every integer up to 2^53 exactly, and heights, times and counts are far below. */
const INDEXING_STATUS: Statement = {
  name: 'indexing-status',
  text: `
    select coalesce((select records from projection.fold_state), 0)::float8 as records, coalesce((
      select json_agg(row_to_json(line) order by line.network) from (
        select network, blockchain, network_id as "networkId", state, problem,
          head_number as head, head_time_s as "headTimeS", number as indexed, time_s as "indexedTimeS",
          coalesce(chain.finalized_number, told.finalized_number) as finalized,
          queue_waiting as "queueWaiting", queue_failed as "queueFailed", worker_healthy as "workerHealthy",
          extract(epoch from clock_timestamp() - observed_at)::float8 as "observedAgoS",
          extract(epoch from clock_timestamp() - moved_at)::float8 as "movedAgoS",
          extract(epoch from clock_timestamp())::float8 as "nowS"
        from ledger.chain_position as chain full join ledger.network_status as told using (network)
      ) as line
    ), '[]'::json) as networks`,
}

/** Cheap: nothing is counted. */
export async function getIndexingStatus(database: ReadDatabase): Promise<IndexingRow> {
  const [row] = await database.rows<IndexingRow>(INDEXING_STATUS)
  if (row === undefined) throw new Error('the indexing status has no row')
  return row
}
