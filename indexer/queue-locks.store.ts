import { sql } from 'kysely'
import type { Db } from '../shared/db/connect.ts'

/**
 * A session of another role that keeps this service's queue waiting; undefined when there is none. BullMQ's functions in
 * Postgres take advisory locks, and any role that may connect can hold those.
 */
export async function findQueueBlocker(db: Db): Promise<{ role: string; pid: number } | undefined> {
  const { rows } = await sql<{ role: string; pid: number }>`
    select b.usename as role, b.pid
    from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) as blocker join pg_stat_activity b on b.pid = blocker
    where w.wait_event_type = 'Lock' and w.wait_event = 'advisory' and w.datname = current_database()
      and w.usename = current_user and b.usename <> current_user
      and w.query_start < clock_timestamp() - interval '1 s'
    limit 1`.execute(db)
  return rows[0]
}
