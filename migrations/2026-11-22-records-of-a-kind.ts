import { sql, type Kysely } from 'kysely'

/**
 * What a record of the history says is the same for thousands of others, but for its transaction, its loan and its
 * times: event, market, contract and chain stand once, in `record_kinds`. A record takes a quarter of the room, with
 * five indexes instead of nine, and a search by any of what a kind says walks the records of the few kinds that fit.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A read model that is being built has the shape of before: it is begun again.
  `drop schema if exists projection_next cascade`,

  `create table projection.record_kinds (
     id integer primary key,
     event text not null,
     loan_type text not null,
     blockchain text not null,
     network_id text not null,
     contract_address text
   )`,
  `create unique index record_kinds_said on projection.record_kinds
     (event, loan_type, blockchain, network_id, coalesce(contract_address, ''))`,
  `insert into projection.record_kinds
     select row_number() over (order by min(id)), event, loan_type, blockchain, network_id, contract_address
     from projection.activity group by event, loan_type, blockchain, network_id, contract_address`,

  `alter table projection.activity rename to activity_before`,
  `create table projection.activity (
     -- From the position in the log of the entry that made the record visible, so that it outlives every replay.
     id bigint not null,
     -- Which stretch of 512 entries of the log made it visible.
     stretch bigint not null generated always as (id / 512000000) stored,
     created_at timestamptz(3) not null,
     updated_at timestamptz(3) not null,
     -- 1 … number of records of the stretch, without gaps, in the order of ids.
     slot integer not null,
     -- Event, market, contract and chain.
     kind integer not null,
     tx_hash text not null,
     loan_id text not null,
     -- Of a channel's record: it comes and goes as the channel is tied to loans, and is found by its key. The channel is
     -- told by its robust address.
     network text,
     channel text,
     natural_key text
   )`,
  `insert into projection.activity (id, created_at, updated_at, slot, kind, tx_hash, loan_id, network, channel, natural_key)
     select record.id, created_at, updated_at, slot, kind.id, tx_hash, loan_id,
       case when channel is not null then network end, channel, natural_key
     from projection.activity_before record join projection.record_kinds kind
       on kind.event = record.event and kind.loan_type = record.loan_type and kind.blockchain = record.blockchain
       and kind.network_id = record.network_id and kind.contract_address is not distinct from record.contract_address
     order by record.id`,
  // Whoever may read the one may read what stands in its place.
  `do $$ declare given record; begin
     for given in select privilege_type, case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as role
       from pg_class c, aclexplode(relacl) where c.oid = 'projection.activity_before'::regclass and grantee <> relowner
     loop
       execute format('grant %s on projection.activity, projection.record_kinds to %s', given.privilege_type, given.role);
     end loop;
   end $$`,
  `drop table projection.activity_before`,
  `alter table projection.activity
     add constraint activity_pkey primary key (id),
     add constraint activity_slot unique (stretch, slot) deferrable initially immediate,
     add constraint activity_of_channel
       check ((natural_key is null) = (channel is null) and (network is null) = (channel is null))`,
  `create index activity_loan on projection.activity (loan_id, id)`,
  `create index activity_kind on projection.activity (kind, id)`,
  // A transaction has few records: they need no order, and a hash takes a third of the room of the text.
  `create index activity_tx_hash on projection.activity using hash (tx_hash)`,
  `create index activity_channel on projection.activity (channel, network) where channel is not null`,
  `create unique index activity_natural_key on projection.activity (natural_key, network)
     where natural_key is not null`,
  // Statistics of what was there before are gone with it.
  `analyze projection.activity, projection.record_kinds`,
]
