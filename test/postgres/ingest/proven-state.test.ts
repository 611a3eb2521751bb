import t from 'tap'
import { findPosition, noteProvenFinal, noteProvenState } from '../../../indexer/event-log/chain-position.ts'
import { getLastPosition } from '../../../indexer/event-log/read-log.ts'
import { ingestReading } from '../../../indexer/ingest/ingest-reading.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, ingestLedger } from '../../helpers/ingest-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

async function provenAt(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .select('state_proven')
    .where('network', '=', EVM.network)
    .executeTakeFirstOrThrow()
  return row.state_proven
}

void t.test('a proof of state holds until the log below it changes', async (t) => {
  const { db } = await testDatabase(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
  await ingestLedger(db, EVM, evm)
  const block = (await findPosition(db, EVM.network))?.block
  const last = evm.at(-1)
  if (block == null || last === undefined) throw new Error('nothing was written')
  await noteProvenState(db, EVM.network, { ...block, hash: 'another' })
  t.equal(await provenAt(db), null, 'of a block that a reorg replaced meanwhile nothing is noted')
  await noteProvenState(db, EVM.network, block)
  t.equal(await provenAt(db), block.number)
  const header = { ...block, parentHash: '', timeS: last.blockTimeS }
  const reading = { from: 0, last: block, headers: [header], evidence: [] }
  await ingestReading(db, EVM, 'test', { ...reading, events: evm })
  t.equal(await provenAt(db), block.number, 'a second reading that is the same changes nothing')
  const isFit = (): boolean => false
  t.equal(await ingestReading(db, EVM, null, { ...reading, events: [] }, isFit), undefined)
  t.equal(await provenAt(db), block.number, 'nor does one of other contracts')
  t.match(await ingestReading(db, EVM, 'test', { ...reading, events: evm.slice(0, -1) }), { retracted: 1 })
  t.equal(await provenAt(db), null)
})

void t.test('a proof at a final block is not noted where the log below it changed meanwhile', async (t) => {
  const { db } = await testDatabase(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
  await ingestLedger(db, EVM, evm)
  const { block, writerEpoch } = (await findPosition(db, EVM.network)) ?? {}
  if (block == null || writerEpoch === undefined) throw new Error('nothing was written')
  const { number } = block
  const since = await getLastPosition(db)
  await noteProvenFinal(db, EVM.network, number, since)
  t.equal(await provenAt(db), null, 'the block is not final')
  await ingestStep(db, EVM, writerEpoch, { type: 'finalized', block })
  await noteProvenFinal(db, EVM.network, number, since)
  t.equal(await provenAt(db), number)
  const reading = { from: 0, last: block, headers: [], evidence: [], events: evm.slice(0, -1) }
  await ingestReading(db, EVM, null, reading)
  await noteProvenFinal(db, EVM.network, number, since)
  t.equal(await provenAt(db), null, 'a second reading retracted an entry')
  await noteProvenFinal(db, EVM.network, number, await getLastPosition(db))
  t.equal(await provenAt(db), number)
})
