import t from 'tap'
import { findPosition, putChainRules, raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { testDatabase } from '../../helpers/database.ts'

void t.test('rules of a chain are added, and those that are known stay as they are', async (t) => {
  const { db } = await testDatabase(t)
  await raiseEpoch(db, 'evm:1', 'reader', { startNumber: 0, watched: {} })
  const rules = async (): Promise<unknown> => (await findPosition(db, 'evm:1'))?.chainRules
  t.same(await rules(), {})
  await putChainRules(db, 'evm:1', { headers: true, receipts: false })
  await putChainRules(db, 'evm:1', { receipts: true, transactions: true })
  t.same(await rules(), { headers: true, receipts: false, transactions: true })
})

void t.test('a rule that holds from a block on is extended downwards alone', async (t) => {
  const { db } = await testDatabase(t)
  await raiseEpoch(db, 'evm:1', 'reader', { startNumber: 0, watched: {} })
  const after = async (headers: boolean | number): Promise<unknown> => {
    await putChainRules(db, 'evm:1', { headers })
    return (await findPosition(db, 'evm:1'))?.chainRules['headers']
  }
  t.equal(await after(700), 700)
  t.equal(await after(900), 700)
  t.equal(await after(500), 500)
  t.equal(await after(true), true)
  t.equal(await after(500), true)
})
