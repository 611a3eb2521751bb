import { sql, type Kysely } from 'kysely'

/** Webhooks say which actions end soon, and how old the messages are that wait. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  -- Readers wait behind these locks too, so they are tried again. After deadlock_timeout, 1 s, Postgres ends an autovacuum.
  set local lock_timeout = '1200ms';

  -- A column, because an index over the state itself would get a new entry with each change of a channel.
  alter table projection.channels add column is_open boolean not null
    generated always as (coalesce(state->'collection', 'null'::jsonb) = 'null'::jsonb) stored;
  create index channels_open on projection.channels (id) where is_open and shown;

  -- Deadlines that each webhook was told of, until they have passed for a day.
  create table ledger.webhook_deadlines (
    webhook text not null,
    -- The message's \`webhook-id\`, which follows from the loan, the action and the deadline.
    id text not null,
    deadline timestamptz(3) not null,
    primary key (webhook, id)
  );

  -- For the age of the oldest message that a receiver did not take.
  alter table ledger.webhook_outbox add column written_at timestamptz(3) not null default clock_timestamp();
  `,
    )
    .execute(db)
}
