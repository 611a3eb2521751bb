import { sql } from 'kysely'
import t from 'tap'
import { replaceEvents } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM } from '../../helpers/ingest-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

/** What a loan is, without what tells when it was written. */
async function loansOf(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select loan_type, loan_id, network, evm_part, opened_s, agreed_s, ended_s, last_block, last_log_index
    from projection.loans order by 1, 2`.execute(db)
  return rows
}

/** The same events in other blocks, with other times and places, in the same order. */
function elsewhere(events: readonly ChainEvent[]): ChainEvent[] {
  return events.map((event) => ({
    ...event,
    blockNumber: event.blockNumber * 3 + 1,
    blockHash: `0xee${event.blockHash.slice(4)}`,
    blockTimeS: event.blockTimeS + 7,
    logIndex: event.logIndex + 2,
  }))
}

void t.test(
  'loans of which only the blocks change are what they would be if nothing had been before',
  async (t) => {
    const { evm } = tellStories(21, 8)
    const { db } = await testDatabase(t)
    const { db: fresh } = await testDatabase(t)
    const blocks = { from: 0, to: 10 ** 9 }
    const write = (into: Db, events: ChainEvent[]): ReturnType<typeof replaceEvents> =>
      inTransaction(into, (trx) => replaceEvents(trx, EVM, blocks, events, 'reorg'))
    await write(db, evm)
    const before = await loansOf(db)
    const moved = elsewhere(evm)
    const { replaced } = await write(db, moved)
    t.equal(replaced, evm.length, 'each event is the same one in another block')
    await write(fresh, moved)
    t.equal(before.length, 8)
    t.strictNotSame(await loansOf(db), before)
    t.strictSame(await loansOf(db), await loansOf(fresh))

    // Some of them change as well, some go, and the rest moves back.
    const left = evm.filter((_, index) => index % 5 !== 0)
    await write(db, left)
    const { db: rest } = await testDatabase(t)
    await write(rest, left)
    t.strictSame(await loansOf(db), await loansOf(rest))
    const digest = await digestReadModel(db)
    await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
    t.same(await digestReadModel(db), digest)
  },
)

void t.test('a loan that another network tells as well is of the network that told it last', async (t) => {
  const { evm } = tellStories(22, 6)
  const { db } = await testDatabase(t)
  for (const network of [EVM.network, 'evm:31338'])
    await inTransaction(db, (trx) =>
      replaceEvents(trx, { ...EVM, network }, { from: 0, to: 10 ** 9 }, evm, 'reindex'),
    )
  const { rows } = await sql`select distinct network from projection.loans`.execute(db)
  t.same(rows, [{ network: 'evm:31338' }])
  const digest = await digestReadModel(db)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  t.same(await digestReadModel(db), digest)
})
