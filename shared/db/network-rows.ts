/** The report of one role as a JSON object, a `RoleReport`; null if there is none. */
const report = (role: string): string => `
    case when ${role}.role is not null then json_build_object('state', ${role}.state, 'problem', ${role}.problem,
      'problemKind', ${role}.problem_kind, 'problemEndpoints', ${role}.problem_endpoints,
      'observedAgoS', extract(epoch from clock_timestamp() - ${role}.observed_at)::float8) end as "${role}"`

/** A network's `ProofReport`; null if no block was read. */
const PROOF = `
    (select json_build_object('from', min(first), 'to', max(last),
      'missing', max(last) - min(first) + 1 - sum(blocks), 'blocks', json_object_agg(kind, blocks),
      'stateAt', chain.state_proven, 'certificateAt', chain.certified)
    from (
      select kind, sum(blocks) as blocks, min(from_number) as first, max(to_number) as last
      from ledger.ranges_read as range cross join unnest(checks, counts) as parts(kind, blocks)
      where range.network = chain.network group by kind having sum(blocks) > 0
    ) as kinds having count(*) > 0) as proof`

/** Selects a `NetworkRow` for every network that was ever indexed, or that an indexer is configured to follow. */
export const NETWORK_ROWS = `
  select network, coalesce(reader.blockchain, writer.blockchain) as blockchain,
    coalesce(reader.network_id, writer.network_id) as "networkId", reader.explorer,${report('reader')},${report('writer')},
    reader.head_number as head, reader.head_time_s as "headTimeS", number as indexed, time_s as "indexedTimeS",
    coalesce(chain.finalized_number, reader.finalized_number) as finalized,
    writer.queue_waiting as "queueWaiting", writer.queue_failed as "queueFailed",
    writer.worker_healthy as "workerHealthy",
    writer.loans_without_beginning as "loansWithoutBeginning",
    extract(epoch from clock_timestamp() - moved_at)::float8 as "movedAgoS",
    extract(epoch from clock_timestamp())::float8 as "nowS",${PROOF}
  from ledger.chain_position as chain
    full join (select * from ledger.network_status where role = 'reader') as reader using (network)
    full join (select * from ledger.network_status where role = 'writer') as writer using (network)`
