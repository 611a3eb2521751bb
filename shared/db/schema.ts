import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { ChainEvent, LoanType } from '../events/chain-event.ts'
import type { ProofKind } from '../events/proof-kind.ts'
import type { CertificateProgress } from '../filecoin/f3/progress.ts'
import type { LEFT, ProblemKind, Role } from '../indexing-health.ts'

/** Row types of the tables. Heights, positions and ids are safe integers; the migrations explain each column. */

export type LogOp = 'append' | 'replace' | 'retract'
export type NetworkState = 'starting' | 'following' | 'standby' | 'retrying' | 'stopped'

export interface EventLogTable {
  position: number
  step: number
  network: string
  blockchain: string
  op: LogOp
  natural_key: string
  revision: number
  subject: string | null
  previous_subject: string | null
  kind: string
  block_number: number
  block_hash: string
  log_index: number
  body: ChainEvent | null
  cause: string | null
  recorded_at: Date
  origin: number | null
  /** How the event's block was proven when it was read; null for retractions, off-chain, and before version 0.3. */
  proof: ProofKind | null
}

interface LogHeadTable {
  only_row: Generated<boolean>
  last_position: number
  last_recorded_at: Date
}

interface ChannelAddressesTable {
  network: string
  natural_key: string
  robust: string
  channel_id: string
  block_number: number
}

interface TokensTable {
  network_id: string
  token: string
  seen: GeneratedAlways<number>
  decimals: number | null
  symbol: string | null
  reads: Generated<number>
  next_read_at: Generated<Date>
}

export interface ChainPositionTable {
  network: string
  start_number: number
  number: number | null
  hash: string | null
  time_s: number | null
  finalized_number: number | null
  finalized_hash: string | null
  writer_epoch: Generated<number>
  reader_epoch: Generated<number>
  steps_from_epoch: Generated<number>
  written_epoch: Generated<number>
  written_sequence: Generated<number>
  watched: unknown
  /** Block at which contract state was proven equal to the index. */
  state_proven: ColumnType<number | null, number | null | undefined>
  /** How far certificates of finality are verified, on a chain that has them. */
  certificates: ColumnType<CertificateProgress | null, string | undefined, string>
  /** Block up to which a certificate proves ours final. */
  certified: ColumnType<number | null, number | undefined>
  moved_at: Date | null
  /** Ethereum's rules by name: true for one that the chain is known to follow. */
  chain_rules: ColumnType<Record<string, boolean | number>, string | undefined, string>
}

interface BlockHeadersTable {
  network: string
  number: number
  hash: string
  parent_hash: string
  time_s: number
}

interface RangesReadTable {
  network: string
  from_number: number
  to_number: number
  endpoints: string[]
  checks: string[]
  /** Blocks of the range by check, in the order of `checks`. */
  counts: number[]
  read_at: Date
}

interface BlockPositionsTable {
  network: string
  number: number
  position: number
}

export interface NetworkStatusTable {
  network: string
  role: Role
  blockchain: string
  network_id: string
  /** An `Explorer` as JSON, in the row of the reader. */
  explorer: string | null
  state: NetworkState | typeof LEFT
  problem: string | null
  problem_kind: ProblemKind | null
  problem_endpoints: number[]
  head_number: number | null
  head_time_s: number | null
  finalized_number: number | null
  queue_waiting: number | null
  queue_failed: number | null
  worker_healthy: boolean
  /** Counts up to 1001; null if not counted. */
  loans_without_beginning: number | null
  /** All networks of the process that reported this. */
  told_with: string[]
  observed_at: Date
}

interface WriterLeasesTable {
  name: string
  holder: string
  token: string
  backend_pid: number
  backend_start: Date
  expires_at: Date
  taken_at: Date
  process: string
  candidate_for: Generated<string[]>
}

export interface WaitingVouchersTable {
  id: Generated<number>
  network: string
  digest: string
  channel_addr: string
  payload: unknown
  way: string
  reason: string
  looked_position: number
  received_at: Generated<Date>
}

export interface DeadLettersTable {
  id: Generated<number>
  queue: string
  job_id: string | null
  digest: string
  network: string | null
  payload: unknown
  payload_bytes: number
  is_cut: boolean
  reason: string
  refused_at: Generated<Date>
  attempts: Generated<number>
}

interface WebhookCursorsTable {
  name: string
  position: number
  skip: number
}

interface WebhookOutboxTable {
  webhook: string
  id: string
  position: number
  body: string
  queued_at: Date | null
  written_at: Generated<Date>
}

interface WebhookDeadlinesTable {
  webhook: string
  id: string
  deadline: Date
}

interface OperationsTable {
  name: string
  /** The block from which to resume; written as JSON text. */
  progress: ColumnType<{ next: number }, string, string>
  updated_at: Generated<Date>
}

/** The key that signs jobs, 32 bytes; only the indexer's role may read it. */
interface QueueKeyTable {
  only_row: Generated<boolean>
  key: Buffer
}

export interface FoldStateTable {
  only_row: Generated<boolean>
  folded_position: number
  records: number
  channels: number
  /** A random UUID, new with each step. */
  version: Generated<string>
}

export interface ActivityTable {
  id: number
  stretch: GeneratedAlways<number>
  created_at: Date
  updated_at: Date
  slot: number
  kind: number
  tx_hash: string
  loan_id: string
  network: string | null
  channel: string | null
  natural_key: string | null
}

interface ActivityPastTable {
  id: number
  since: number
  until: number
  kind: number
  tx_hash: string
  loan_id: string
  natural_key: string | null
  created_at: Date
  updated_at: Date
}

export interface RecordKindsTable {
  id: number
  event: string
  loan_type: string
  blockchain: string
  network_id: string
  contract_address: string | null
  json_before_loan: GeneratedAlways<string>
  json_after_loan: GeneratedAlways<string>
}

interface ActivityCountsTable {
  level: number
  number: number
  parent: GeneratedAlways<number>
  before: number
  records: number
}

export interface LoansTable {
  loan_type: LoanType
  loan_id: string
  id: number
  network: string
  evm_part: unknown
  derived_state: string | null
  channel_party: string | null
  seized_s: number | null
  fil_borrower: string | null
  fil_lender: string | null
  named_channel: string | null
  secret_hash_a1: string | null
  secret_hash_b1: string | null
  contract_loan_id: string | null
  opened_s: number | null
  agreed_s: number | null
  ended_s: number | null
  last_block: number
  last_log_index: number
  created_at: Date
  updated_at: Date
}

interface DailyTable {
  loan_type: LoanType
  network_id: string
  token: string
  day: number
  opened: Generated<number>
  closed: Generated<number>
  seized: Generated<number>
  cancelled: Generated<number>
  /** Exact decimal text. */
  principal: Generated<string>
  unknown: Generated<number>
  open: number
}

interface DerivedStatesTable {
  loan_type: LoanType
  loan_id: string
  position: number
  derived_state: string | null
  recorded_at: Date
}

interface LoanListsTable {
  list: string
  id: number
  since: number
}

interface LoanListsPastTable extends LoanListsTable {
  until: number
}

export interface ChannelsTable {
  network: string
  robust: string
  id: number
  state: unknown
  addresses: string[]
  parties: string[]
  secret_hashes: string[]
  stated_loans: string[]
  created_s: number
  loan_type: LoanType | null
  loan_id: string | null
  role: string | null
  strength: number | null
  claimants: string[]
  shown: boolean
  part: unknown
  created_at: Date
  updated_at: Date
  since: number
  is_open: GeneratedAlways<boolean>
}

interface ChannelsPastTable {
  network: string
  robust: string
  since: number
  until: number
  id: number
  loan_type: LoanType
  loan_id: string
  role: string
  created_at: Date
  updated_at: Date
}

/** A read model's tables, named without a schema: `withSchema` selects the read model. */
interface ReadModelTables {
  fold_state: FoldStateTable
  activity: ActivityTable
  activity_past: ActivityPastTable
  record_kinds: RecordKindsTable
  activity_counts: ActivityCountsTable
  loans: LoansTable
  derived_states: DerivedStatesTable
  loan_lists: LoanListsTable
  loan_lists_past: LoanListsPastTable
  daily: DailyTable
  channels: ChannelsTable
  channels_past: ChannelsPastTable
}

/** The read model in use. */
type LiveTables = { [T in keyof ReadModelTables as `projection.${T}`]: ReadModelTables[T] }

export interface Tables extends ReadModelTables, LiveTables {
  'ledger.log_head': LogHeadTable
  'ledger.event_log': EventLogTable
  'ledger.channel_addresses': ChannelAddressesTable
  'ledger.tokens': TokensTable
  'ledger.chain_position': ChainPositionTable
  'ledger.block_headers': BlockHeadersTable
  'ledger.ranges_read': RangesReadTable
  'ledger.block_positions': BlockPositionsTable
  'ledger.network_status': NetworkStatusTable
  'ledger.writer_leases': WriterLeasesTable
  'ledger.waiting_vouchers': WaitingVouchersTable
  'ledger.dead_letters': DeadLettersTable
  'ledger.webhook_cursors': WebhookCursorsTable
  'ledger.webhook_outbox': WebhookOutboxTable
  'ledger.webhook_deadlines': WebhookDeadlinesTable
  'ledger.operations': OperationsTable
  'secrets.queue_key': QueueKeyTable
}
