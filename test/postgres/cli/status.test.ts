import { sql } from 'kysely'
import t from 'tap'
import { forgetOtherNetworks } from '../../../indexer/event-log/network-status.ts'
import { readinessAnswer } from '../../../api/schemas/status.ts'
import { testApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { runOps } from '../../helpers/run-ops.ts'
import { seedNetwork, type SeededNetwork } from '../../helpers/seed-projection.ts'

/** In two minutes: a busy machine may take as long to start a command, and without a lease a report counts for 5 s. */
const TOLD = { observedAgoS: -120 }

void t.test('the head is never shown behind what is indexed', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db, { ...TOLD, head: 37, indexed: 38 })
  await seedNetwork(db, { ...TOLD, network: 'evm:5', head: 40, indexed: 38 })
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl: url, networks: {} }, 'status', ...args)
  const [text, json] = await Promise.all([ops(), ops('--json')])
  t.equal(text.code, 0, text.err)
  t.match(text.out, /^evm:31337 .*\n.*\n {2}head 38, indexed 38,/m)
  t.ok(
    text.out.split('\n').every((line) => line.length <= 80),
    'it fits a terminal',
  )
  t.match(text.out, /^evm:5 .*\n.*\n {2}head 40, indexed 38,/m)
  t.match(JSON.parse(json.out), {
    networks: [
      { head: 38, indexed: 38 },
      { head: 40, indexed: 38 },
    ],
  })
})

void t.test('a network that is configured no longer is told as such, and is no fault', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db, TOLD)
  await seedNetwork(db, { network: 'evm:5' })
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl: url, networks: {} }, 'status', ...args)
  await forgetOtherNetworks(db, ['evm:31337'])
  const [text, json] = await Promise.all([ops(), ops('--json')])
  t.equal(text.code, 0, text.err)
  t.match(text.out, /^evm:5 .*: not followed\n.*\n {2}head \?, indexed 100,/m)
  t.match(JSON.parse(json.out), {
    networks: [{}, { state: 'not followed', readerObservedSecondsAgo: null, writerObservedSecondsAgo: null }],
  })
  await sql`delete from ledger.network_status`.execute(db)
  t.equal((await ops()).code, 1, 'but then one must be followed')
})

void t.test('an indexer that starts forgets no network of another one', async (t) => {
  const { db } = await testDatabase(t)
  await seedNetwork(db, { toldWith: ['evm:31337', 'evm:5'] })
  await seedNetwork(db, { network: 'evm:5', toldWith: ['evm:31337', 'evm:5'] })
  await seedNetwork(db, { network: 'evm:6', toldWith: ['evm:6', 'evm:7'], observedAgoS: 1800 })
  await seedNetwork(db, { network: 'evm:9', toldWith: ['evm:9'], observedAgoS: 4000 })
  const known = async (): Promise<string[]> => {
    const rows = await db
      .selectFrom('ledger.network_status')
      .select('network')
      .distinct()
      .orderBy('network')
      .execute()
    return rows.map(({ network }) => network)
  }
  await forgetOtherNetworks(db, ['evm:8'])
  t.same(await known(), ['evm:31337', 'evm:5', 'evm:6'], 'but one that was silent for an hour')
  await forgetOtherNetworks(db, ['evm:31337'])
  t.same(await known(), ['evm:31337', 'evm:6'], 'what it had along with its own')
})

const cases: [what: string, seeded: SeededNetwork, workerHealthy: boolean, note: RegExp, isWell: boolean][] =
  [
    [
      'a worker that takes nothing',
      TOLD,
      false,
      /^the queue worker takes nothing although work waits$/,
      false,
    ],
    [
      'a network that is stuck',
      { ...TOLD, indexed: 10, movedAgoS: 600 },
      true,
      /^stuck: 90 blocks behind the head, and nothing was written for \d+ s$/,
      false,
    ],
    [
      'one that catches up',
      { ...TOLD, indexed: 10, indexedAgeS: 900, movedAgoS: -120 },
      true,
      /^catching up, 90 blocks behind/,
      false,
    ],
    ['a silent indexer', { observedAgoS: 16 }, true, /^no indexer has told anything for \d+ s$/, false],
    ['one that is well', TOLD, true, /^at the head$/, true],
  ]
for (const [what, seeded, workerHealthy, note, isWell] of cases) {
  void t.test(`${what}: status says what readiness says`, async (t) => {
    const { app, db, url } = await testApi(t)
    await seedNetwork(db, seeded)
    await sql`update ledger.network_status set worker_healthy = ${workerHealthy}`.execute(db)
    const ready = await app.inject('/readyz')
    t.equal(ready.statusCode, isWell ? 200 : 503)
    t.match(readinessAnswer.parse(ready.json()).payload?.networks, [{ note }])
    const text = await runOps(t, { databaseUrl: url, networks: {} }, 'status')
    t.equal(text.code, isWell ? 0 : 1, text.err)
    t.ok(
      text.out.split('\n').some((line) => line.startsWith('  ') && note.test(line.trim())),
      text.out,
    )
    const json = await runOps(t, { databaseUrl: url, networks: {} }, 'status', '--json')
    t.match(JSON.parse(json.out), { networks: [{ synced: isWell, note }] })
  })
}

void t.test('a node that is away is told, and is 1 although what is indexed is still fresh', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db, { ...TOLD, state: 'retrying', problem: 'ECONNREFUSED' })
  const { code, out } = await runOps(t, { databaseUrl: url, networks: {} }, 'status')
  t.equal(code, 1)
  t.match(out, /: retrying\n {2}retrying: ECONNREFUSED; the last indexed block is \d+ s old\n {2}head /)
  await seedNetwork(db, { ...TOLD, problem: 'it was refused a block' })
  t.match(await runOps(t, { databaseUrl: url, networks: {} }, 'status'), {
    ...{ code: 0, out: /: following\n {2}at the head\n {2}it was refused a block\n {2}head / },
  })
})

void t.test('once the last indexer was stopped, nothing counts as fresh', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedNetwork(db, { state: 'left' })
  const { code, out } = await runOps(t, { databaseUrl: url, networks: {} }, 'status')
  t.equal(code, 1)
  t.match(out, /read by none/)
  t.match(out, /^ {2}no process reads this network$/m)
})

void t.test('a database that no indexer ever touched is not well', async (t) => {
  const { url } = await testDatabase(t)
  const { code, out } = await runOps(t, { databaseUrl: url, networks: {} }, 'status')
  t.equal(code, 1)
  t.match(out, /no network was ever indexed here/)
})
