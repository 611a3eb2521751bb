import { sql } from 'kysely'
import t from 'tap'
import { forgetOtherNetworks } from '../../../indexer/event-log/network-status.ts'
import { testDatabase } from '../../helpers/database.ts'
import { runOps } from '../../helpers/run-ops.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'

void t.test('the head is never shown behind what is indexed', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db, { head: 37, indexed: 38 })
  await seedNetwork(db, { network: 'evm:5', head: 40, indexed: 38 })
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl: url, networks: {} }, 'status', ...args)
  const [text, json] = await Promise.all([ops(), ops('--json')])
  t.equal(text.code, 0, text.err)
  t.match(text.out, /evm:31337 .*head 38, indexed 38,/)
  t.match(text.out, /evm:5 .*head 40, indexed 38,/)
  t.match(JSON.parse(json.out), {
    networks: [
      { head: 38, indexed: 38 },
      { head: 40, indexed: 38 },
    ],
  })
})

void t.test('a network that is configured no longer is told as such, and is no fault', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db)
  await seedNetwork(db, { network: 'evm:5' })
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl: url, networks: {} }, 'status', ...args)
  await forgetOtherNetworks(db, ['evm:31337'])
  const [text, json] = await Promise.all([ops(), ops('--json')])
  t.equal(text.code, 0, text.err)
  t.match(text.out, /^evm:5 .*: not followed, .*indexed 100,/m)
  t.match(JSON.parse(json.out), { networks: [{}, { state: 'not followed', observedSecondsAgo: null }] })
  await sql`delete from ledger.network_status`.execute(db)
  t.equal((await ops()).code, 1, 'but then one must be followed')
})

void t.test('an indexer that starts forgets no network of another one', async (t) => {
  const { db } = await testDatabase(t)
  await seedNetwork(db, { toldWith: ['evm:31337', 'evm:5'] })
  await seedNetwork(db, { network: 'evm:5', toldWith: ['evm:31337', 'evm:5'] })
  await seedNetwork(db, { network: 'evm:6', toldWith: ['evm:6', 'evm:7'], observedAgoS: 3600 })
  const known = async (): Promise<string[]> => {
    const rows = await db.selectFrom('ledger.network_status').select('network').orderBy('network').execute()
    return rows.map(({ network }) => network)
  }
  await forgetOtherNetworks(db, ['evm:8'])
  t.same(await known(), ['evm:31337', 'evm:5', 'evm:6'], 'one that was never told of')
  await forgetOtherNetworks(db, ['evm:31337'])
  t.same(await known(), ['evm:31337', 'evm:6'], 'what it had along with its own')
})
