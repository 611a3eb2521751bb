import t from 'tap'
import { adoptWatched, findPosition } from '../../../indexer/event-log/chain-position.ts'
import { testDatabase } from '../../helpers/database.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'

void t.test(
  'other contracts are adopted for an index that ends with what was read, and no other',
  async (t) => {
    const { db } = await testDatabase(t)
    await seedNetwork(db, { indexed: 10 })
    const start = { startNumber: 3, watched: { other: 'contracts' } }
    const network = 'evm:31337'
    t.notOk(await adoptWatched(db, network, { number: 9, hash: '0x00' }, start), 'it has moved on')
    t.notOk(await adoptWatched(db, network, { number: 10, hash: '0x02' }, start), 'it was on another branch')
    t.match(await findPosition(db, network), { startNumber: 0, watched: {} })
    t.ok(await adoptWatched(db, network, { number: 10, hash: '0x01' }, start))
    t.match(await findPosition(db, network), start)
  },
)
