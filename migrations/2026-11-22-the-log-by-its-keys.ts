import { sql, type Kysely } from 'kysely'

/**
 * What the log holds of a key, and of a channel's address, is looked up by those before the network. A planner whose statistics do not know a network
 * yet takes it for one without entries, and would sooner walk all of them by their blocks than trust the key.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table ledger.event_log add constraint event_log_key unique (natural_key, revision, network)`,
  `alter table ledger.event_log drop constraint event_log_network_natural_key_revision_key`,
  `drop index ledger.channel_addresses_robust`,
  `drop index ledger.channel_addresses_id`,
  `create index channel_addresses_robust on ledger.channel_addresses (robust, network)`,
  `create index channel_addresses_id on ledger.channel_addresses (channel_id, network)`,
]
