import { sql } from 'kysely'
import t from 'tap'
import { readinessAnswer, statusAnswer } from '../../../api/schemas/status.ts'
import { testApi } from '../../helpers/api.ts'
import { seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'

void t.test('the status tells every network, the records and the version', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 3)
  await seedNetwork(db, { head: 120, headAgeS: 2, indexed: 117, indexedAgeS: 38 })
  await seedNetwork(db, { network: 'evm:5', state: 'stopped', problem: 'the chain id is 6' })
  const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
  t.equal(payload.version, '0.0.0-test')
  t.equal(payload.records, 3)
  t.strictSame(payload.networks[0], {
    network: 'evm:31337',
    blockchain: 'DEVNET',
    networkId: '31337',
    state: 'following',
    problem: null,
    problemKind: null,
    head: 120,
    indexed: 117,
    finalized: 50,
    lagBlocks: 3,
    lagSeconds: 36,
    synced: true,
    note: 'following, 3 blocks behind the head',
    queueWaiting: 2,
    queueFailed: 0,
  })
  t.match(payload.networks[1], {
    network: 'evm:5',
    state: 'stopped',
    problem: 'the chain id is 6',
    synced: false,
  })
})

void t.test('ready says whether what is answered is fresh, and why', async (t) => {
  const { app, db } = await testApi(t)
  const ask = async (): Promise<[number, string]> => {
    const response = await app.inject('/readyz')
    const { status, message } = readinessAnswer.parse(response.json())
    t.equal(status, response.statusCode === 200 ? 'OK' : 'ERROR')
    return [response.statusCode, message]
  }
  t.match(await ask(), [503, /no network is followed/])
  await seedNetwork(db)
  t.match(await ask(), [200, 'every network is fresh'])
  await seedNetwork(db, { network: 'evm:5', indexed: 10, movedAgoS: 600 })
  t.match(await ask(), [503, /^evm:5: stuck: 90 blocks behind/])
  await seedNetwork(db, { network: 'evm:5', observedAgoS: 16 })
  t.match(await ask(), [503, /^evm:5: no indexer has told anything for 16 s/])
  await sql`delete from ledger.network_status where network = 'evm:5'`.execute(db)
  t.match(await ask(), [200, 'every network is fresh'], 'a network taken out of the configuration')
  const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
  t.match(payload.networks[1], { network: 'evm:5', state: 'not followed', indexed: 100, synced: false })
  t.match(payload.networks[1]?.note, /^not followed: /)
  await sql`delete from ledger.network_status`.execute(db)
  t.match(await ask(), [503, /no network is followed/], 'all of them')
  t.equal((await app.inject('/healthz')).statusCode, 200, 'the process lives all the same')
})
