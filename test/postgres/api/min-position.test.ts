import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { buildApp } from '../../../api/app.ts'
import { openReadDatabase, type ReadDatabase } from '../../../api/queries/read-database.ts'
import { createClient, getHistoryPage, neverGoBack } from '../../../client/index.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { createLogger } from '../../../shared/log.ts'
import { testApi } from '../../helpers/api.ts'
import { postgresPair, type PostgresPair } from '../../helpers/postgres-pair.ts'
import { seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'

t.setTimeout(120_000)

const URLS = ['/api/activity/history', '/api/activity?limit=2', '/api/status', '/api/protocolContracts']

async function writeStep(db: Db, position: number): Promise<void> {
  await sql`update projection.fold_state set folded_position = ${position}, version = gen_random_uuid()`.execute(
    db,
  )
}

/** A primary and a replica, with an API on each. */
async function stage(t: Test) {
  const pair = await postgresPair(t)
  await seedRecords(pair.primary.admin, 3)
  await seedNetwork(pair.primary.admin, { network: 'evm:31337', indexed: 7 })
  await writeStep(pair.primary.admin, 3)
  await pair.caughtUp()
  const { app: ahead } = await testApi(t, { url: pair.primary.url })
  const { app: behind } = await testApi(t, { url: pair.standby.url })
  return { pair, ahead, behind }
}

async function replay(pair: PostgresPair, action: 'pause' | 'resume'): Promise<void> {
  await sql`select ${sql.raw(`pg_wal_replay_${action}()`)}`.execute(pair.standby.admin)
}

const min = (position: number | string) => ({ 'x-min-position': `${position}` })

void t.test('a client that saw a position gets it from another replica, or waits', async (t) => {
  const { pair, ahead, behind } = await stage(t)
  for (const url of URLS)
    for (let turn = 0; turn < 2; turn += 1)
      t.match(await behind.inject({ url, headers: min(3) }), {
        statusCode: 200,
        headers: { 'x-position': '3', vary: /x-min-position/ },
      })
  await replay(pair, 'pause')
  await writeStep(pair.primary.admin, 4)
  t.equal((await ahead.inject('/api/activity/history')).headers['x-position'], '4')
  let answered = 0
  const waiting = ['/api/activity/history', '/api/loan/ERC20/1'].map(async (url) => {
    const answer = await behind.inject({ url, headers: min(4) })
    answered += 1
    return answer
  })
  for (const url of URLS)
    t.match(
      await behind.inject(url),
      { statusCode: 200, headers: { 'x-position': '3' } },
      'without the header',
    )
  t.equal(answered, 0)
  await replay(pair, 'resume')
  const [history, loan] = await Promise.all(waiting)
  t.match(history, { statusCode: 200, headers: { 'x-position': '4' } })
  t.equal(loan?.statusCode, 404, 'known to be missing at that position')
})

void t.test('a replica that stays behind is 503, and few requests wait for it', async (t) => {
  const { pair, behind } = await stage(t)
  await replay(pair, 'pause')
  await writeStep(pair.primary.admin, 4)
  const ends: number[] = []
  const asked = Array.from({ length: 5 }, async () => {
    const answer = await behind.inject({ url: '/api/activity/history', headers: min(4) })
    ends.push(performance.now())
    t.match(answer, { statusCode: 503, headers: { 'retry-after': '1' } })
    t.match(answer.json(), { message: /^position 4 is not here yet/ })
    t.equal(answer.headers['x-position'], undefined)
  })
  await Promise.all(asked)
  const [first = 0] = ends
  t.equal(ends.filter((end) => end - first > 1_000).length, 2, 'two requests of one client waited')
  for (const wrong of ['', '-1', '1.5', '9007199254740993', 'evm'])
    t.equal(
      (await behind.inject({ url: '/api/activity/history', headers: min(wrong) })).statusCode,
      400,
      `"${wrong}"`,
    )
  t.equal((await behind.inject({ url: '/healthz', headers: min(99) })).statusCode, 200)
  t.equal(
    (await behind.inject({ url: '/api/no-route', headers: min(4) })).statusCode,
    404,
    'waits for nothing',
  )
  const near = behind.inject({ url: '/api/activity/history', headers: min(4) }).then(() => 'near')
  const far = behind.inject({ url: '/api/activity/history', headers: min(10_004) }).then(() => 'far')
  t.equal(await Promise.race([near, far]), 'far', 'a position too far ahead is not waited for')
  await near
  await replay(pair, 'resume')
})

void t.test('an answer of a session that is on another replica is not sent', async (t) => {
  const { pair } = await stage(t)
  await replay(pair, 'pause')
  await writeStep(pair.primary.admin, 4)
  const open = ({ url }: { url: string }): ReadDatabase => openReadDatabase(url, { onError: () => undefined })
  const [primary, standby] = [open(pair.primary), open(pair.standby)]
  t.teardown(() => Promise.all([primary.close(), standby.close()]))
  const database: ReadDatabase = {
    ...standby,
    rows: (statement, values) => (statement.name === 'position' ? primary : standby).rows(statement, values),
  }
  const app = await buildApp({ database, log: createLogger('test', 'silent'), version: '0.0.0-test' })
  t.teardown(() => app.close())
  for (const accept of ['application/json', 'application/x-ndjson'])
    for (const url of accept === 'application/json' ? URLS : ['/api/activity']) {
      const refused = await app.inject({ url, headers: { accept, ...min(4) } })
      t.match(refused, { statusCode: 503, headers: { 'retry-after': '1', etag: undefined } }, url)
      t.equal((await app.inject({ url, headers: { accept, ...min(3) } })).statusCode, 200, url)
    }
  await replay(pair, 'resume')
})

void t.test('the typed client names the highest position that it saw, when asked to', async (t) => {
  const { pair, ahead, behind } = await stage(t)
  const urls = await Promise.all([ahead, behind].map((app) => app.listen({ port: 0, host: '127.0.0.1' })))
  await replay(pair, 'pause')
  await writeStep(pair.primary.admin, 4)
  for (const isAsked of [false, true]) {
    const client = createClient()
    if (isAsked) neverGoBack(client)
    const ask = async (baseUrl: string | undefined): Promise<string | number | null> => {
      const { response } = await getHistoryPage({ client, baseUrl: baseUrl ?? '', path: { page: '1' } })
      return response.status === 200 ? response.headers.get('x-position') : response.status
    }
    t.same([await ask(urls[0]), await ask(urls[1])], ['4', isAsked ? 503 : '3'])
  }
  await replay(pair, 'resume')
})
