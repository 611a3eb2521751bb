import { sql } from 'kysely'
import t from 'tap'
import { up } from '../../../migrations/2026-11-25-networks-told-together.ts'
import { testDatabase, withoutTables } from '../../helpers/database.ts'
import { migrateBefore } from '../../helpers/migrate-before.ts'

void t.test('what was told before counts as told together, as it did', async (t) => {
  const { db } = await testDatabase(t, { migrated: false })
  await migrateBefore(db, '2026-11-25-networks-told-together.ts')
  const tell = (network: string): Promise<unknown> =>
    sql`insert into ledger.network_status (network, blockchain, network_id, state, observed_at)
      values (${network}, 'TEST', '1', 'following', now())`.execute(db)
  await tell('evm:1')
  await tell('evm:2')
  await up(withoutTables(db))
  await tell('evm:3')
  const rows = await db
    .selectFrom('ledger.network_status')
    .select(['network', 'told_with'])
    .orderBy('network')
    .execute()
  t.same(
    rows.map(({ network, told_with: toldWith }) => [network, toldWith.toSorted()]),
    [
      ['evm:1', ['evm:1', 'evm:2']],
      ['evm:2', ['evm:1', 'evm:2']],
      ['evm:3', []],
    ],
  )
})
