import type { Db } from '../../shared/db/connect.ts'

/** The 32 bytes that sign jobs of the queue. Rejects where the role may not read them: it is not the indexer's. */
export async function getQueueKey(db: Db): Promise<Uint8Array> {
  const { key } = await db.selectFrom('secrets.queue_key').select('key').executeTakeFirstOrThrow()
  return key
}
