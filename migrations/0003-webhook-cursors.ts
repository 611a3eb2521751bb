import { sql, type Kysely } from 'kysely'

/** The place of each webhook in the log, and its outbox: messages that its receiver has not taken yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `
  create table ledger.webhook_cursors (
    name text primary key,
    -- Everything up to this log position is in the outbox or behind it, and \`skip\` of what the next entry brings.
    position bigint not null,
    skip integer not null
  );

  create table ledger.webhook_outbox (
    webhook text not null,
    -- The message's \`webhook-id\`.
    id text not null,
    position bigint not null,
    -- The exact text that is sent in each attempt.
    body text not null,
    -- When its job was last added to the queue, which may lose it.
    queued_at timestamptz(3),
    primary key (webhook, id)
  );

  -- Dead letters of webhooks have limits of their own: a receiver that is away must not push out refused vouchers.
  create index dead_letters_others on ledger.dead_letters (id) where queue not like 'webhook-%';
  `,
    )
    .execute(db)
}
