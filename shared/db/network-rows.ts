/** Selects a `NetworkRow` for every network that was ever indexed, or that an indexer is configured to follow. */
export const NETWORK_ROWS = `
  select network, blockchain, network_id as "networkId", state, problem, problem_kind as "problemKind",
    head_number as head, head_time_s as "headTimeS", number as indexed, time_s as "indexedTimeS",
    coalesce(chain.finalized_number, told.finalized_number) as finalized,
    queue_waiting as "queueWaiting", queue_failed as "queueFailed", worker_healthy as "workerHealthy",
    loans_without_beginning as "loansWithoutBeginning",
    extract(epoch from clock_timestamp() - observed_at)::float8 as "observedAgoS",
    extract(epoch from clock_timestamp() - moved_at)::float8 as "movedAgoS",
    extract(epoch from clock_timestamp())::float8 as "nowS"
  from ledger.chain_position as chain full join ledger.network_status as told using (network)`
