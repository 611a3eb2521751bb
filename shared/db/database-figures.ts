import { NETWORK_ROWS } from './network-rows.ts'
import type { NetworkRow } from '../indexing-health.ts'

/** Figures that both programs export, as one statement reads them. */
export interface DatabaseFigures {
  /** Records of the history. */
  records: number
  networks: NetworkRow[]
  /** Sessions of all clients of the server. */
  connections: number
  /** Sessions that the server allows to ordinary roles. */
  connectionLimit: number
  sizeBytes: number
  /** Seconds by which a replica is behind its primary; null on a primary. */
  replicaLagS: number | null
}

/**
 * Selects a `DatabaseFigures`. Counts no table. A replica that has replayed all that it received is not behind, unless
 * it receives nothing: then its lag is the age of the last transaction.
 */
export const DATABASE_FIGURES = `
  select coalesce((select records from projection.fold_state), 0)::float8 as records,
    coalesce((select json_agg(row_to_json(line) order by line.network) from (${NETWORK_ROWS}) as line), '[]'::json)
      as networks,
    (select count(*) from pg_catalog.pg_stat_activity where usename is not null)::int as connections,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) as "connectionLimit",
    pg_catalog.pg_database_size(current_database())::float8 as "sizeBytes",
    case when not pg_catalog.pg_is_in_recovery() then null
      when exists (select 1 from pg_catalog.pg_stat_wal_receiver where pid is not null)
        and pg_catalog.pg_last_wal_receive_lsn() = pg_catalog.pg_last_wal_replay_lsn() then 0
      else coalesce(extract(epoch from clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()), 0)::float8
    end as "replicaLagS"`
