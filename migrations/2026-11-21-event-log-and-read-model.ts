import { sql, type Kysely } from 'kysely'

/**
 * Two schemas. `ledger` is the truth and its bookkeeping: the event log, the position on each chain, the headers
 * that a reorg may still touch. `projection` is the read model: all of it can be built again from the log, and
 * `replay` builds a second one beside it and renames.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...ledger, ...projection]) await sql.raw(statement).execute(db)
}

const ledger = [
  `create schema ledger`,

  // One row. Whoever appends to the log holds its lock until commit: positions are given in commit order, without gaps.
  `create table ledger.log_head (
     only_row boolean primary key default true check (only_row),
     last_position bigint not null default 0,
     last_recorded_at timestamptz(3) not null default 'epoch'
   )`,
  `insert into ledger.log_head default values`,

  `create table ledger.event_log (
     position bigint primary key check (position > 0),
     -- The position of the first entry of the same transaction: entries of one step are folded together.
     step bigint not null check (step <= position),
     network text not null,
     -- The chain's name at the time, as records show it.
     blockchain text not null,
     op text not null check (op in ('append', 'replace', 'retract')),
     natural_key text not null,
     -- 1, 2, 3 … of this natural key: an event can come, go and come again.
     revision integer not null check (revision > 0),
     subject text,
     -- The subject that a replacement took the event away from, where it is another one.
     previous_subject text,
     kind text not null,
     block_number bigint not null,
     block_hash text not null,
     log_index integer not null,
     -- The event, with all it takes to understand it without asking a chain; null in a retraction.
     body jsonb check ((body is null) = (op = 'retract')),
     -- Why an entry was retracted or replaced.
     cause text,
     recorded_at timestamptz(3) not null,
     unique (network, natural_key, revision)
   )`,
  `create index event_log_subject on ledger.event_log (subject, position) where subject is not null`,
  `create function ledger.refuse_change() returns trigger language plpgsql as $$
     begin raise exception 'the event log is append-only: % refused', tg_op; end $$`,
  `create trigger event_log_is_append_only before update or delete on ledger.event_log
     for each statement execute function ledger.refuse_change()`,

  // The entries of the log that hold now: what a reorg or a second reading is compared with.
  `create table ledger.live_entries (
     network text not null,
     natural_key text not null,
     position bigint not null,
     revision integer not null,
     subject text,
     block_number bigint not null,
     primary key (network, natural_key)
   )`,
  `create index live_entries_block on ledger.live_entries (network, block_number)`,

  // The payment channels whose creation holds now. A message names a channel by either address; the ID address can be
  // another channel's after a reorg.
  `create table ledger.channel_addresses (
     network text not null,
     natural_key text not null,
     robust text not null,
     channel_id text not null,
     block_number bigint not null,
     primary key (network, natural_key)
   )`,
  `create index channel_addresses_robust on ledger.channel_addresses (network, robust)`,
  `create index channel_addresses_id on ledger.channel_addresses (network, channel_id)`,

  `create table ledger.chain_position (
     network text primary key,
     -- The first block that is read.
     start_number bigint not null,
     -- The last block that was written; null until the first.
     number bigint,
     hash text,
     time_s bigint,
     finalized_number bigint,
     finalized_hash text,
     -- Raised by each new leader: a batch of an earlier one is void.
     writer_epoch bigint not null default 0,
     -- What was watched when this network was read: other contracts make another index.
     watched jsonb not null,
     moved_at timestamptz(3),
     check ((number is null) = (hash is null))
   )`,
  `create table ledger.block_headers (
     network text not null,
     number bigint not null,
     hash text not null,
     parent_hash text not null,
     time_s bigint not null,
     primary key (network, number)
   )`,
  `create table ledger.ranges_read (
     network text not null,
     from_number bigint not null,
     to_number bigint not null,
     endpoints text[] not null,
     checks text[] not null,
     read_at timestamptz(3) not null,
     primary key (network, from_number),
     check (from_number <= to_number)
   )`,
  `create table ledger.network_status (
     network text primary key,
     blockchain text not null,
     network_id text not null,
     -- 'starting' | 'following' | 'standby' | 'retrying' | 'stopped'
     state text not null,
     problem text,
     head_number bigint,
     head_time_s bigint,
     finalized_number bigint,
     queue_waiting integer,
     queue_failed integer,
     worker_healthy boolean not null default true,
     observed_at timestamptz(3) not null
   )`,
  // What was signed for a channel that the log does not hold yet, or not yet as it must be for this.
  `create table ledger.waiting_vouchers (
     id bigint generated always as identity primary key,
     network text not null,
     -- Hash of the payload: the same thing handed in twice waits once.
     digest text not null,
     -- The channel as the voucher or statement names it, by either address.
     channel_addr text not null,
     payload jsonb not null,
     way text not null,
     reason text not null,
     -- The log's position when it was last looked at.
     looked_position bigint not null,
     received_at timestamptz(3) not null default clock_timestamp(),
     unique (network, digest)
   )`,
  `create index waiting_vouchers_channel on ledger.waiting_vouchers (network, channel_addr, id)`,
  // What was refused, newest 10,000: kept here, for a queue's memory ends with its Redis.
  `create table ledger.dead_letters (
     id bigint generated always as identity primary key,
     -- The queue it came through, or the other way in: 'import', 'node-store'.
     queue text not null,
     job_id text,
     digest text not null,
     network text,
     -- As it came; where it was larger than is kept, its beginning as text.
     payload jsonb not null,
     payload_bytes integer not null,
     is_cut boolean not null,
     reason text not null,
     refused_at timestamptz(3) not null default clock_timestamp(),
     -- How often the same thing was refused.
     attempts integer not null default 1,
     unique (queue, digest)
   )`,
  `create index dead_letters_digest on ledger.dead_letters (digest)`,
  // Operators' long runs, so that an interrupted one goes on where it was.
  `create table ledger.operations (
     name text primary key,
     progress jsonb not null,
     updated_at timestamptz(3) not null default now()
   )`,
]

const projection = [
  `create schema projection`,
  `create table projection.fold_state (
     only_row boolean primary key default true check (only_row),
     folded_position bigint not null default 0,
     records bigint not null default 0,
     channels bigint not null default 0
   )`,
  `insert into projection.fold_state default values`,
  `create table projection.activity (
     -- From the position in the log of the entry that made the record visible, so that it outlives every replay.
     id bigint primary key,
     -- Which stretch of 512 entries of the log made it visible.
     stretch bigint not null generated always as (id / 512000000) stored,
     -- 1 … number of records of the stretch, without gaps, in the order of ids.
     slot integer not null,
     network text not null,
     natural_key text not null,
     tx_hash text not null,
     event text not null,
     loan_id text not null,
     blockchain text not null,
     network_id text not null,
     contract_address text,
     loan_type text not null,
     -- Robust address of the payment channel that it is about.
     channel text,
     created_at timestamptz(3) not null,
     updated_at timestamptz(3) not null,
     unique (network, natural_key),
     constraint activity_slot unique (stretch, slot) deferrable initially immediate
   )`,
  // How many records come before: three look-ups find the record of any number, and one that goes changes at most the
  // 512 brothers after it at each level. Level 0 are stretches, 512 of them make one of level 1, 512 of those of level 2.
  `create table projection.activity_counts (
     level smallint not null check (level between 0 and 2),
     number bigint not null,
     parent bigint not null generated always as (case level when 2 then 0 else number / 512 end) stored,
     -- Records of its earlier brothers.
     before bigint not null,
     -- Its own; one without records has no row.
     records bigint not null check (records > 0),
     primary key (level, number),
     constraint activity_counts_before unique (level, parent, before) deferrable initially immediate
   )`,
  `create index activity_loan on projection.activity (loan_type, loan_id, id)`,
  `create index activity_channel on projection.activity (channel, network) where channel is not null`,
  // Each filter of the keyset search walks its own index, however rare its value is.
  `create index activity_tx_hash on projection.activity (tx_hash, id)`,
  `create index activity_loan_type on projection.activity (loan_type, id)`,
  `create index activity_event on projection.activity (event, id)`,
  `create index activity_network on projection.activity (network_id, id)`,
  `create index activity_blockchain on projection.activity (blockchain, id)`,
  `create table projection.loans (
     loan_type text not null,
     loan_id text not null,
     -- The position in the log of the entry that made the loan.
     id bigint not null unique,
     network text not null,
     state text not null,
     borrower text,
     lender text,
     -- The contract's half as the lookups answer it, fields in their order (json, not jsonb, keeps it).
     evm_part json not null,
     -- '0.5' where the Filecoin side is ahead of the contract's state; null where the contract's own is shown.
     derived_state text,
     -- What ties a payment channel to it: addresses in the form in which they are compared, Unix seconds.
     fil_borrower text,
     fil_lender text,
     named_channel text,
     opened_s bigint,
     agreed_s bigint,
     ended_s bigint,
     last_block bigint not null,
     last_log_index integer not null,
     created_at timestamptz(3) not null,
     updated_at timestamptz(3) not null,
     primary key (loan_type, loan_id)
   )`,
  // A channel is tied to a loan by one of these. The times bound how many loans of one party are looked at.
  `create index loans_fil_borrower on projection.loans (fil_borrower, coalesce(ended_s, 9007199254740991))
     where fil_borrower is not null`,
  `create index loans_fil_lender on projection.loans (fil_lender, coalesce(ended_s, 9007199254740991))
     where fil_lender is not null`,
  `create index loans_named_channel on projection.loans (named_channel) where named_channel is not null`,
  `create index loans_secret_hash_a1 on projection.loans ((evm_part->>'secretHashA1'))`,
  `create index loans_secret_hash_b1 on projection.loans ((evm_part->>'secretHashB1'))`,
  `create index loans_contract_loan_id on projection.loans ((evm_part->>'contractLoanId'))`,
  `create table projection.channels (
     network text not null,
     robust text not null,
     -- The position in the log of the entry that made the channel known.
     id bigint not null unique,
     -- The channel as folded from the log.
     state jsonb not null,
     -- What ties it to a loan: its own names, its parties' names, its vouchers' hashes, loans named in statements.
     addresses text[] not null,
     parties text[] not null,
     secret_hashes text[] not null,
     stated_loans text[] not null,
     created_s bigint not null,
     -- The loan that it belongs to, as what, and how we know (4 the contract says so … 1 the parties fit).
     loan_type text,
     loan_id text,
     role text check (role in ('collateral', 'principal', 'payback')),
     strength smallint,
     -- Every loan that has some claim to it.
     claimants text[] not null,
     -- Of several channels in one role, the one that the lookup shows; and what it shows.
     shown boolean not null,
     part json,
     created_at timestamptz(3) not null,
     updated_at timestamptz(3) not null,
     primary key (network, robust)
   )`,
  `create unique index channels_shown on projection.channels (loan_type, loan_id, role) where shown`,
  `create index channels_loan on projection.channels (loan_type, loan_id) where loan_id is not null`,
  `create index channels_addresses on projection.channels using gin (addresses)`,
  `create index channels_parties on projection.channels using gin (parties)`,
  `create index channels_secret_hashes on projection.channels using gin (secret_hashes)`,
  `create index channels_stated_loans on projection.channels using gin (stated_loans)`,
  `create index channels_claimants on projection.channels using gin (claimants)`,
]
