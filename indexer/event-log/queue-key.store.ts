import type { Db } from '../../shared/db/connect.ts'

/** The 32 bytes that sign jobs of the queue. Rejects if the database role may not read them; only the indexer's may. */
export async function getQueueKey(db: Db): Promise<Uint8Array> {
  const { key } = await db.selectFrom('secrets.queue_key').select('key').executeTakeFirstOrThrow()
  return key
}
