import { sql, type Kysely } from 'kysely'

/**
 * Creates three schemas. `ledger` is the truth and its bookkeeping. `projection` is the read model, which `replay` can
 * rebuild from the log. `secrets` is separate, so that a grant on all tables of another schema never includes it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statements of [EVENT_LOG, CHAINS, VOUCHERS, OPERATIONS, SECRETS, HISTORY, LOANS, CHANNELS]) {
    await sql.raw(statements).execute(db)
  }
}

const EVENT_LOG = `
  create schema ledger;

  -- An appender locks this row until its commit: positions follow the order of commits and have no gaps.
  create table ledger.log_head (
    only_row boolean primary key default true check (only_row),
    last_position bigint not null default 0,
    last_recorded_at timestamptz(3) not null default 'epoch'
  );
  insert into ledger.log_head default values;

  create table ledger.event_log (
    position bigint primary key check (position > 0),
    -- Position of the first entry of the same transaction. Entries of one step are folded together.
    step bigint not null check (step <= position),
    network text not null,
    -- The chain's name when the entry was written; records show it.
    blockchain text not null,
    op text not null check (op in ('append', 'replace', 'retract')),
    natural_key text not null,
    -- 1, 2, 3 … for one natural key: an event can come, go and come again.
    revision integer not null check (revision > 0),
    subject text,
    -- The subject from which a replacement took the event away, if it differs.
    previous_subject text,
    kind text not null,
    block_number bigint not null,
    block_hash text not null,
    log_index integer not null,
    -- The whole event, so that nobody has to ask a chain. Readers take all of it: json is cheaper to write than jsonb.
    body json check ((body is null) = (op = 'retract')),
    -- Why the entry was replaced or retracted.
    cause text,
    recorded_at timestamptz(3) not null,
    -- Position of the append that a replacement or retraction is about. The record's id comes from it.
    origin bigint,
    constraint event_log_origin check ((origin is null) = (op = 'append')),
    -- The key comes first: without statistics on a new network the planner would prefer the index by blocks.
    constraint event_log_key unique (natural_key, revision, network)
  );
  create index event_log_subject on ledger.event_log (subject, position) where subject is not null;
  create index event_log_block on ledger.event_log (network, block_number);

  create function ledger.refuse_change() returns trigger language plpgsql as $$
    begin raise exception 'the event log is append-only: % refused', tg_op; end $$;
  create trigger event_log_is_append_only before update or delete on ledger.event_log
    for each statement execute function ledger.refuse_change();

  -- Payment channels whose creation holds now. After a reorg, another channel can have the same ID address.
  create table ledger.channel_addresses (
    network text not null,
    natural_key text not null,
    robust text not null,
    channel_id text not null,
    block_number bigint not null,
    primary key (network, natural_key)
  );
  create index channel_addresses_robust on ledger.channel_addresses (robust, network);
  create index channel_addresses_id on ledger.channel_addresses (channel_id, network);

  -- The tokens that loans name. The log has their decimals; the node is asked for their symbols.
  create table ledger.tokens (
    network_id text not null,
    -- EIP-55.
    token text not null,
    -- The order in which they were seen.
    seen bigint generated always as identity,
    -- Null where the token gives none that are below 256.
    decimals integer,
    -- Null until it was read, and while the token gives none that can be shown.
    symbol text,
    -- How often the token was asked, and when it is asked again.
    reads integer not null default 0,
    next_read_at timestamptz(3) not null default 'epoch',
    primary key (network_id, token)
  );
  create index tokens_seen on ledger.tokens (network_id, seen);
  create index tokens_unread on ledger.tokens (network_id, next_read_at) where symbol is null;
`

const CHAINS = `
  create table ledger.chain_position (
    network text primary key,
    -- The first block that is read.
    start_number bigint not null,
    -- The last block that was written; null until the first.
    number bigint,
    hash text,
    time_s bigint,
    finalized_number bigint,
    finalized_hash text,
    -- Each new writer raises it; an earlier one writes nothing any more.
    writer_epoch bigint not null default 0,
    -- Each new reader raises it; an earlier one ends.
    reader_epoch bigint not null default 0,
    -- Steps of readers before this one are of other contracts.
    steps_from_epoch bigint not null default 0,
    -- The last step that was written; its reader sees by it that it was.
    written_epoch bigint not null default 0,
    written_sequence bigint not null default 0,
    -- The contracts and settings this network was read with. Others need another index.
    watched jsonb not null,
    moved_at timestamptz(3),
    check ((number is null) = (hash is null))
  );

  -- Headers that a reorg may still touch.
  create table ledger.block_headers (
    network text not null,
    number bigint not null,
    hash text not null,
    parent_hash text not null,
    time_s bigint not null,
    primary key (network, number)
  );

  -- How each range was read and checked.
  create table ledger.ranges_read (
    network text not null,
    from_number bigint not null,
    to_number bigint not null,
    endpoints text[] not null,
    checks text[] not null,
    read_at timestamptz(3) not null,
    primary key (network, from_number),
    check (from_number <= to_number)
  );

  -- When the service wrote each network's blocks: at a block, and at those up to the next row's, the log ended at this position.
  -- A reorg replaces the rows of its blocks. A step after which the log stands where it stood has no row.
  create table ledger.block_positions (
    network text not null,
    number bigint not null,
    position bigint not null,
    primary key (network, number)
  );

  create table ledger.network_status (
    network text not null,
    -- The report of the network's 'reader' or of its 'writer'.
    role text not null,
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
    observed_at timestamptz(3) not null,
    -- All networks of the process that reported this. Only such a process may remove a network that it no longer follows.
    told_with text[] not null default '{}',
    -- Null: not counted. Kept here because a reader of the status must never wait for the read model.
    loans_without_beginning integer,
    -- The part that fails, from a closed set.
    problem_kind text,
    primary key (network, role)
  );
`

const VOUCHERS = `
  -- Signed vouchers and statements for a channel that the log does not hold, or not yet in the state they need.
  create table ledger.waiting_vouchers (
    id bigint generated always as identity primary key,
    network text not null,
    -- Hash of the payload: a payload handed in twice waits once.
    digest text not null,
    -- The channel as the payload names it, by either address.
    channel_addr text not null,
    payload jsonb not null,
    way text not null,
    reason text not null,
    -- The log's last position when the voucher was last examined.
    looked_position bigint not null,
    received_at timestamptz(3) not null default clock_timestamp(),
    unique (network, digest)
  );
  create index waiting_vouchers_channel on ledger.waiting_vouchers (network, channel_addr, id);

  -- The newest 10,000 refused payloads. They survive here when a queue loses its Redis.
  create table ledger.dead_letters (
    id bigint generated always as identity primary key,
    -- The queue it came through, or the other way in: 'import', 'node-store'.
    queue text not null,
    job_id text,
    digest text not null,
    network text,
    -- The beginning as text, if it was larger than the limit.
    payload jsonb not null,
    payload_bytes integer not null,
    is_cut boolean not null,
    reason text not null,
    refused_at timestamptz(3) not null default clock_timestamp(),
    -- How often the same payload was refused.
    attempts integer not null default 1,
    unique (queue, digest)
  );
  create index dead_letters_digest on ledger.dead_letters (digest);
`

const OPERATIONS = `
  -- Progress of operators' long runs, so that an interrupted one continues.
  create table ledger.operations (
    name text primary key,
    progress jsonb not null,
    updated_at timestamptz(3) not null default now()
  );

  -- Names the process that reads or writes a network or runs an operation, and registers live processes. Only the indexer's
  -- role can write it; any role can hold an advisory lock. backend_pid and backend_start name the holder's session in pg_stat_activity.
  create table ledger.writer_leases (
    name text primary key,
    holder text not null,
    token text not null,
    backend_pid int not null,
    backend_start timestamptz not null,
    -- By the database's clock.
    expires_at timestamptz not null,
    taken_at timestamptz not null,
    -- A random id of the holder's process, and the leases that it may take if this row registers it.
    process text not null,
    candidate_for text[] not null default '{}'
  );
`

const SECRETS = `
  create schema secrets;

  -- The key that signs the queue's jobs. Two random UUIDs, 122 bits each, are hashed to 32 bytes.
  create table secrets.queue_key (
    only_row boolean primary key default true check (only_row),
    key bytea not null check (octet_length(key) = 32)
  );
  insert into secrets.queue_key (key)
    values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
`

const HISTORY = `
  create schema projection;

  create table projection.fold_state (
    only_row boolean primary key default true check (only_row),
    folded_position bigint not null default 0,
    records bigint not null default 0,
    channels bigint not null default 0,
    -- New with each step. Two timelines of one database can share xmin and ctid, but no random value.
    version uuid not null default gen_random_uuid()
  );
  insert into projection.fold_state default values;

  create table projection.activity (
    -- From the log position of the entry that made the record visible: a replay gives the same.
    id bigint primary key,
    -- The 512 log entries among which that entry is.
    stretch bigint not null generated always as (id / 512000000) stored,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    -- 1 … number of records of the stretch, without gaps, in the order of ids.
    slot integer not null,
    kind integer not null,
    tx_hash text not null,
    loan_id text not null,
    -- Only for a payment channel's record: it comes and goes as the channel is tied to loans, and is found by its key.
    network text,
    -- The channel's robust address.
    channel text,
    natural_key text,
    constraint activity_slot unique (stretch, slot) deferrable initially immediate,
    constraint activity_of_channel
      check ((natural_key is null) = (channel is null) and (network is null) = (channel is null))
  );
  create index activity_loan on projection.activity (loan_id, kind, id);
  create index activity_kind on projection.activity (kind, id);
  -- A transaction has few records, which need no order: a hash index is a third the size.
  create index activity_tx_hash on projection.activity using hash (tx_hash);
  create index activity_channel on projection.activity (channel, network) where channel is not null;
  create unique index activity_natural_key on projection.activity (natural_key, network)
    where natural_key is not null;

  -- Records as they were before they were corrected or removed. Each stood in the history from log position "since" until "until",
  -- both the last of a step; it was no longer there at "until".
  create table projection.activity_past (
    id bigint not null,
    since bigint not null,
    until bigint not null,
    kind integer not null,
    tx_hash text not null,
    loan_id text not null,
    natural_key text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (id, until)
  );
  create index activity_past_loan on projection.activity_past (loan_id, id);
  create index activity_past_kind on projection.activity_past (kind, id);
  create index activity_past_tx_hash on projection.activity_past using hash (tx_hash);
  -- The stream reads changes in the order of the log.
  create index activity_past_until on projection.activity_past (until, id);

  -- How many records come before. Three look-ups find the record of any number; a deleted record changes at most 512 rows at
  -- each level. Level 0 counts stretches; 512 of them make one of level 1, and 512 of those one of level 2.
  create table projection.activity_counts (
    level smallint not null check (level between 0 and 2),
    number bigint not null,
    parent bigint not null generated always as (case level when 2 then 0 else number / 512 end) stored,
    -- Records of its earlier siblings.
    before bigint not null,
    -- Its own; a stretch without records has no row.
    records bigint not null check (records > 0),
    primary key (level, number),
    constraint activity_counts_before unique (level, parent, before) deferrable initially immediate
  );

  -- Postgres calls to_json stable because of other types; for text it is immutable.
  create function ledger.json_of(said text) returns text immutable language sql
    return coalesce(to_json(said)::text, 'null');

  -- What thousands of records share is stored once, also as the JSON that stands before and after the loan in an answer.
  create table projection.record_kinds (
    id integer primary key,
    event text not null,
    loan_type text not null,
    blockchain text not null,
    network_id text not null,
    contract_address text,
    json_before_loan text not null
      generated always as (',"event":' || ledger.json_of(event) || ',"loanId":') stored,
    json_after_loan text not null
      generated always as (',"blockchain":' || ledger.json_of(blockchain) || ',"networkId":' || ledger.json_of(network_id)
        || ',"contractAddress":' || ledger.json_of(contract_address) || ',"loanType":' || ledger.json_of(loan_type)) stored
  );
  create unique index record_kinds_said on projection.record_kinds
    (event, loan_type, blockchain, network_id, coalesce(contract_address, ''));
`

const LOANS = `
  create table projection.loans (
    loan_type text not null,
    loan_id text not null,
    -- Log position of the entry that made the loan.
    id bigint not null unique,
    network text not null,
    -- The contract's half as lookups answer it; json keeps the order of its fields, jsonb does not.
    evm_part json not null,
    -- '0.5' where the Filecoin side is ahead of the contract; null where the contract's own state is shown.
    derived_state text,
    -- Canonical address of a party that a payment channel has and the contract does not name yet.
    channel_party text,
    -- When the lender settled the collateral's channel with the seize voucher, in Unix seconds.
    seized_s bigint,
    -- What ties a payment channel to the loan, with the hashes and the number below. Canonical addresses, Unix seconds.
    fil_borrower text,
    fil_lender text,
    named_channel text,
    -- Null where the event that made the loan was not read.
    opened_s bigint,
    agreed_s bigint,
    ended_s bigint,
    last_block bigint not null,
    last_log_index integer not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    secret_hash_a1 text,
    secret_hash_b1 text,
    contract_loan_id text,
    primary key (loan_type, loan_id)
  )
  -- A loan changes a handful of times: with room on its page, most changes touch no index.
  with (fillfactor = 70);
  -- ended_s bounds how many loans of one party are examined. The number is 2^53 - 1: later than any time.
  create index loans_fil_borrower on projection.loans (fil_borrower, coalesce(ended_s, 9007199254740991))
    where fil_borrower is not null;
  create index loans_fil_lender on projection.loans (fil_lender, coalesce(ended_s, 9007199254740991))
    where fil_lender is not null;
  create index loans_named_channel on projection.loans (named_channel) where named_channel is not null;
  create index loans_secret_hash_a1 on projection.loans (secret_hash_a1) where secret_hash_a1 is not null;
  create index loans_secret_hash_b1 on projection.loans (secret_hash_b1) where secret_hash_b1 is not null;
  create index loans_contract_loan_id on projection.loans (contract_loan_id);
  create index loans_without_beginning on projection.loans (network) where opened_s is null;

  -- Each value that derived_state took, and the log position at which it did: the last of a step. The loan's contract half
  -- follows from the log alone, and so it has no table of the past.
  create table projection.derived_states (
    loan_type text not null,
    loan_id text not null,
    position bigint not null,
    derived_state text,
    recorded_at timestamptz(3) not null,
    primary key (loan_type, loan_id, position)
  );

  -- The loans of each account, and of each market and state, in the order of their ids. A table of its own: indexes of loans
  -- over what changes often would give each change of a loan an entry in every index.
  create table projection.loan_lists (
    -- '<loan type>/<state as shown>', an EVM address in lower case, or a canonical Filecoin address.
    list text collate "C" not null,
    -- The loan's id.
    id bigint not null,
    -- The log position from which the loan is in the list: in its last step, or before.
    since bigint not null,
    primary key (list, id)
  );
  -- The loans that left a list: in it from log position "since", and no longer at "until".
  create table projection.loan_lists_past (
    list text collate "C" not null,
    id bigint not null,
    until bigint not null,
    since bigint not null,
    primary key (list, id, until)
  );

  -- Loans opened and ended on each day of a chain's clock, by market and token.
  create table projection.daily (
    loan_type text not null,
    network_id text not null,
    token text not null,
    -- Days since 1970-01-01 UTC.
    day bigint not null,
    opened bigint not null default 0,
    closed bigint not null default 0,
    seized bigint not null default 0,
    cancelled bigint not null default 0,
    -- The loans opened have this principal, in whole units; unknown counts those whose amount is not known.
    principal numeric not null default 0,
    unknown bigint not null default 0,
    -- Loans that are open at the end of the day.
    open bigint not null,
    primary key (loan_type, network_id, token, day)
  );
  create index daily_day on projection.daily (day, loan_type, network_id, token);
`

const CHANNELS = `
  create table projection.channels (
    network text not null,
    robust text not null,
    -- Log position of the entry that made the channel known.
    id bigint not null unique,
    -- The channel as folded from the log.
    state jsonb not null,
    -- What ties it to a loan: its own addresses, its parties', its vouchers' hashes, and loans that statements name.
    addresses text[] not null,
    parties text[] not null,
    secret_hashes text[] not null,
    stated_loans text[] not null,
    created_s bigint not null,
    -- Its loan, its role there, and the evidence: from 4, the contract says so, down to 1, the parties fit.
    loan_type text,
    loan_id text,
    role text check (role in ('collateral', 'principal', 'payback')),
    strength smallint,
    -- Every loan that has some claim to it.
    claimants text[] not null,
    -- Whether the lookup shows this one of several channels in the role, and as what.
    shown boolean not null,
    part json,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    -- The log position from which lookups show it so: the last of a step.
    since bigint not null,
    primary key (network, robust)
  );
  -- How lookups showed channels before: as those of these loans, from log position "since" until "until".
  create table projection.channels_past (
    network text not null,
    robust text not null,
    since bigint not null,
    until bigint not null,
    id bigint not null,
    loan_type text not null,
    loan_id text not null,
    role text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (loan_type, loan_id, role, until, network, robust)
  );
  create unique index channels_shown on projection.channels (loan_type, loan_id, role) where shown;
  create index channels_loan on projection.channels (loan_type, loan_id) where loan_id is not null;
  create index channels_addresses on projection.channels using gin (addresses);
  create index channels_parties on projection.channels using gin (parties);
  create index channels_secret_hashes on projection.channels using gin (secret_hashes);
  create index channels_stated_loans on projection.channels using gin (stated_loans);
  create index channels_claimants on projection.channels using gin (claimants);
`
