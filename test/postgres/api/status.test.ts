import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { readinessAnswer, statusAnswer } from '../../../api/schemas/status.ts'
import { PROBLEM_KINDS } from '../../../shared/indexing-health.ts'
import { testApi } from '../../helpers/api.ts'
import { seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'
import { cases } from '../../helpers/cases.ts'

void t.test('the status tells every network, the records and the version', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 3)
  await seedNetwork(db, { head: 120, headAgeS: 2, indexed: 117, indexedAgeS: 38 })
  await seedNetwork(db, { network: 'evm:5', state: 'stopped', problem: 'the chain id is 6' })
  const explorer = { transaction: 'https://explorer.example/tx/{transaction}', address: null }
  await sql`update ledger.network_status set explorer = ${JSON.stringify(explorer)} where network = 'evm:31337'`.execute(
    db,
  )
  const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
  t.equal(payload.version, '0.0.0-test')
  t.equal(payload.records, 3)
  t.strictSame(payload.networks[0], {
    network: 'evm:31337',
    blockchain: 'DEVNET',
    networkId: '31337',
    explorer,
    state: 'following',
    reader: 'following',
    writer: 'following',
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
    proof: null,
  })
  t.match(payload.networks[1], {
    network: 'evm:5',
    state: 'stopped',
    problem: 'the network has stopped: an operator has to act',
    note: 'stopped: the network has stopped: an operator has to act',
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

void t.test('a network that only one role follows is not ready, and says which one is missing', async (t) => {
  const { app, db } = await testApi(t)
  for (const [missing, problem] of [
    ['reader', 'no process reads this network'],
    ['writer', 'no process writes this network'],
  ] as const) {
    await seedNetwork(db)
    await sql`delete from ledger.network_status where role = ${missing}`.execute(db)
    const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
    t.match(payload.networks, [
      {
        state: 'unobserved',
        [missing]: 'unobserved',
        problem,
        problemKind: missing,
        note: problem,
        synced: false,
      },
    ])
    t.match((await app.inject('/readyz')).json(), { status: 'ERROR', message: `evm:31337: ${problem}` })
    await seedNetwork(db)
    await sql`update ledger.network_status set observed_at = now() - interval '16 s' where role = ${missing}`.execute(
      db,
    )
    t.match((await app.inject('/readyz')).json(), { status: 'ERROR', message: `evm:31337: ${problem}` })
  }
})

void t.test('a stopped indexer has 5 s to be replaced', async (t) => {
  const { app, db } = await testApi(t)
  await seedNetwork(db, { state: 'left', observedAgoS: -120 })
  t.equal((await app.inject('/readyz')).statusCode, 200)
  await seedNetwork(db, { state: 'left', observedAgoS: 6 })
  t.match((await app.inject('/readyz')).json(), {
    status: 'ERROR',
    message: 'evm:31337: no process reads this network',
  })
})

void t.test('head and finality are the reader’s, the queue is the writer’s', async (t) => {
  const { app, db } = await testApi(t)
  await seedNetwork(db, { head: 120, indexed: 117 })
  await sql`update ledger.network_status set head_number = 1, head_time_s = 1, finalized_number = 1
    where role = 'writer'`.execute(db)
  await sql`update ledger.network_status set queue_waiting = 99, queue_failed = 99, worker_healthy = false
    where role = 'reader'`.execute(db)
  const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
  t.match(payload.networks, [
    { head: 120, indexed: 117, finalized: 50, queueWaiting: 2, queueFailed: 0, synced: true },
  ])
})

void t.test('a status counts the blocks by kind of proof, and those that were not read', async (t) => {
  const { app, db } = await testApi(t)
  const proof = async () =>
    statusAnswer.parse((await app.inject('/api/status')).json()).payload.networks[0]?.proof
  await seedNetwork(db)
  t.equal(await proof(), null)
  const at = { network: 'evm:31337', endpoints: ['secret.example'], read_at: new Date() }
  await db
    .insertInto('ledger.ranges_read')
    .values([
      { ...at, from_number: 5, to_number: 24, checks: ['bloom', 'receipts'], counts: [17, 3] },
      { ...at, from_number: 25, to_number: 27, checks: ['receipts'], counts: [3] },
      { ...at, from_number: 30, to_number: 30, checks: ['one'], counts: [1] },
      { ...at, network: 'evm:5', from_number: 0, to_number: 99, checks: ['two'], counts: [100] },
    ])
    .execute()
  t.same(await proof(), {
    from: 5,
    to: 30,
    missing: 2,
    blocks: { receipts: 6, bloom: 17, one: 1 },
    stateAt: null,
    certificateAt: null,
  })
})

void t.test('whatever an indexer reports, strangers read it in words of a closed set', async (t) => {
  const { app, db } = await testApi(t)
  const texts = [
    'http://10.0.0.5:8545: HTTP 401: user:hunter2@internal',
    'the database "loans" is away: connect ECONNREFUSED 10.1.2.3:5432',
    'endpoint 2 (https://rpc.internal:8545): "quota of key abcdef"; endpoint 1 (http://x): HTTP 502',
    '/srv/secrets/networks.json is gone',
  ]
  const reported = fc.record({
    state: fc.constantFrom('starting', 'following', 'retrying', 'stopped', 'standby'),
    problem: fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'grapheme-ascii', minLength: 1 })),
    kind: fc.constantFrom(null, ...PROBLEM_KINDS, 'constructor'),
  })
  const words = new Set<string>()
  await fc.assert(
    fc.asyncProperty(reported, async ({ state, problem, kind }) => {
      await seedNetwork(db, { state, problem })
      await sql`update ledger.network_status set problem_kind = ${kind}, problem_endpoints = '{3}'`.execute(
        db,
      )
      const status = await app.inject('/api/status')
      const [network] = statusAnswer.parse(status.json()).payload.networks
      const ready = await app.inject('/readyz')
      readinessAnswer.parse(ready.json())
      words.add((network?.problem ?? '').replace(/ \(endpoint \d+(, \d+)*\)$/, ''))
      const shown = status.body + ready.body
      return !/10\.|hunter2|internal|ECONN|5432|8545|quota|abcdef|srv|secrets|https?:|loans"/.test(shown)
    }),
    { numRuns: cases(150) },
  )
  t.ok(words.size <= PROBLEM_KINDS.length, [...words].join('; '))
  await seedNetwork(db, { state: 'retrying', problem: texts[2] ?? '' })
  await sql`update ledger.network_status set problem_kind = 'node', problem_endpoints = '{2,1}'`.execute(db)
  const { payload } = statusAnswer.parse((await app.inject('/api/status')).json())
  t.equal(payload.networks[0]?.problem, 'the node does not answer as needed (endpoint 1, 2)')
})
