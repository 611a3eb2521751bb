import { sql, type Kysely } from 'kysely'

/**
 * What a transaction writes once it wrote up to three times: the entries that hold now stood in a table beside the log,
 * and a contract's record in the history carried the key of its event. The log's own index by key tells what holds,
 * and a record's id which entry made it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A read model that is being built has the shape of before: it is begun again.
  `drop schema if exists projection_next cascade`,

  `drop table ledger.live_entries`,
  // What a reorg or a second reading is compared with.
  `create index event_log_block on ledger.event_log (network, block_number)`,
  // Of what corrects or takes back: the position of the entry that appended it, which its record has its id from.
  `alter table ledger.event_log add column origin bigint`,
  `alter table ledger.event_log disable trigger event_log_is_append_only`,
  `update ledger.event_log entry set origin = (
     select max(position) from ledger.event_log made
     where made.network = entry.network and made.natural_key = entry.natural_key
       and made.revision < entry.revision and made.op = 'append')
   where op <> 'append'`,
  `alter table ledger.event_log enable trigger event_log_is_append_only`,
  `alter table ledger.event_log add constraint event_log_origin check ((origin is null) = (op = 'append'))`,

  // A channel's records come and go as it is tied to loans: those are found by their key, and no others.
  `alter table projection.activity drop constraint activity_network_natural_key_key`,
  `alter table projection.activity alter column natural_key drop not null`,
  `update projection.activity set natural_key = null where channel is null`,
  `alter table projection.activity add constraint activity_of_channel check ((natural_key is null) = (channel is null))`,
  `create unique index activity_natural_key on projection.activity (network, natural_key)
     where natural_key is not null`,
]
