import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

void t.test(
  'who reads for long holds up the end of a replay, and neither writers nor an interruption',
  async (t) => {
    const { db } = await testDatabase(t)
    await ingestStories(db, tellStories(3, 4))
    const digest = await digestReadModel(db)
    const run = (signal: AbortSignal): Promise<boolean> =>
      replay(db, { restart: true, signal, onProgress: () => undefined })
    let finished: Promise<boolean> | undefined
    await db.transaction().execute(async (trx) => {
      // As an autovacuum has it, and without giving way.
      await sql`lock table projection.activity in share update exclusive mode`.execute(trx)
      const stop = new AbortController()
      const interrupted = run(stop.signal)
      for (let look = 0; look < 30; look += 1) {
        await sleep(50)
        await db
          .transaction()
          .execute((own) => sql`select from ledger.log_head for update nowait`.execute(own))
      }
      stop.abort()
      t.equal(await interrupted, false, 'it is interrupted')
      t.same(await digestReadModel(db), digest, 'the old read model is read')
      finished = run(new AbortController().signal)
      await sleep(500)
    })
    t.equal(await finished, true, 'it ends when nobody reads for long any more')
    t.same(await digestReadModel(db), digest)
  },
)
