import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Db } from '../../../shared/db/connect.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { SEEDED_ID_STEP, seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'

type ActivityRecord = Record<string, string | number | null> & { id: number }

/** More than sockets and streams hold, so that a client that does not read stops the export. */
const MANY = 60_000

const recordsOf = (body: string): ActivityRecord[] =>
  body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ActivityRecord)

async function walk({ app }: TestApi, query: string): Promise<ActivityRecord[]> {
  const all: ActivityRecord[] = []
  const cursor = query.includes('after=') ? 'after' : 'before'
  for (let next = ''; ;) {
    const url = `/api/activity?${next === '' ? query : query.replace(/after=\d+&?/, '')}&limit=200${next}`
    const page = (await app.inject(url)).json<{ payload: ActivityRecord[]; next: number | null }>()
    all.push(...page.payload)
    if (page.next === null) return all
    next = `&${cursor}=${page.next}`
  }
}

void t.test('an export has every record that matches, in the order of the pages', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 1_700)
  await seedNetwork(api.db, { network: 'evm:31337', indexed: 7 })
  for (const query of [
    '',
    'event=CreateLoanOffer&event=Withdraw',
    `after=${3 * SEEDED_ID_STEP}&loanType=FILERC20`,
    'loanId=7&loanId=8',
    'from=2030-01-01T00:10:00Z&to=2030-01-01T00:20:00Z',
    'event=Withdraw',
  ]) {
    const expected = await walk(api, query)
    const url = `/api/activity?${query}`
    const lines = await api.app.inject({ url, headers: { accept: 'application/x-ndjson' } })
    t.strictSame(recordsOf(lines.body), expected, query)
    const csv = await api.app.inject({ url, headers: { accept: 'text/csv' } })
    const [head, ...rows] = csv.body.split('\r\n').slice(0, -1)
    t.equal(head, 'id,txHash,event,loanId,blockchain,networkId,contractAddress,loanType,createdAt,updatedAt')
    t.strictSame(
      rows,
      expected.map((record) => Object.values(record).join()),
      `${query} as CSV`,
    )
  }
  const few = await api.app.inject({
    url: '/api/activity?limit=30',
    headers: { accept: 'application/x-ndjson' },
  })
  t.equal(recordsOf(few.body).length, 30, 'no more than a limit that was given')
})

void t.test('its headers', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 300)
  await seedNetwork(db, { network: 'evm:31337', indexed: 7 })
  for (const [accept, type] of [
    ['text/csv', 'text/csv; charset=utf-8; header=present'],
    ['application/x-ndjson', 'application/x-ndjson; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
  ] as const) {
    const whole = await app.inject({ url: '/api/activity', headers: { accept } })
    t.match(whole, { statusCode: 200, headers: { 'content-type': type, 'x-indexed-evm-31337': '7' } })
    t.match(whole.headers.vary, /\baccept\b(?!-)/, accept)
    const head = await app.inject({ url: '/api/activity', method: 'HEAD', headers: { accept } })
    t.match(head, { statusCode: 200, body: '', headers: { 'content-type': type } })
    if (accept === '*/*') continue
    t.match(whole.headers, { 'cache-control': 'no-store', etag: undefined })
    const wrong = await app.inject({ url: '/api/activity?event=Nope', headers: { accept } })
    t.match(wrong, { statusCode: 400, headers: { 'content-type': /json/ } })
    const unknown = await app.inject({ url: '/api/activity?networkId=9', headers: { accept } })
    t.match(unknown.json(), { status: 'ERROR', message: 'networkId must be one of 31337' })
  }
  const plain = await app.inject({ url: '/api/activity', headers: { accept: 'text/csv' } })
  const packed = await app.inject({
    url: '/api/activity',
    headers: { accept: 'text/csv', 'accept-encoding': 'gzip' },
  })
  t.equal(packed.headers['content-encoding'], 'gzip')
  t.equal(gunzipSync(packed.rawPayload).toString(), plain.body)
})

void t.test('a formula that somebody wrote into a voucher is text in the CSV', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 1)
  await sql`update projection.activity set tx_hash = '=HYPERLINK("http://x","y")'`.execute(db)
  const { body } = await app.inject({ url: '/api/activity', headers: { accept: 'text/csv' } })
  t.match(body, `${SEEDED_ID_STEP},"'=HYPERLINK(""http://x"",""y"")",CreateBorrowRequest,1,`)
})

async function listening(t: Test, options: { exportTextWithinMs?: number } = {}) {
  const api = await testApi(t, options)
  await seedRecords(api.db, MANY)
  await api.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = api.app.server.address() as AddressInfo
  /** Asks from an address of its own, and reads nothing of the answer yet. */
  const ask = async (
    localAddress: string,
    headers: Record<string, string> = {},
  ): Promise<IncomingMessage> => {
    const request = get({
      ...{ port, host: '127.0.0.1', path: '/api/activity', localAddress, agent: false },
      headers: { accept: 'application/x-ndjson', ...headers },
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    // The connection is cut in some tests.
    response.on('error', () => undefined)
    return response
  }
  return { ...api, ask }
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Transactions of the API that wait for their reader, and not only between two statements. */
async function waiting({ db }: Pick<TestApi, 'db'>): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'loan-activity api' and state = 'idle in transaction'
      and clock_timestamp() - state_change > interval '300 milliseconds'`.execute(db)
  return rows.map(({ pid }) => pid)
}

/** Counts the API's open transactions, one for each export. */
async function inTransactions(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and application_name = 'loan-activity api' and xact_start is not null`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** The server frees a place a moment after the client sees its connection close. */
async function askUntilFree(ask: () => Promise<IncomingMessage>): Promise<IncomingMessage> {
  let response = await ask()
  for (; response.statusCode === 503; response = await ask()) response.destroy()
  return response
}

void t.test('what changes while a client reads changes nothing in its export', async (t) => {
  const { ask, db } = await listening(t)
  const response = await ask('127.0.0.1')
  await until(async () => (await waiting({ db })).length === 1)
  await sql`delete from projection.activity where id <= ${sql.lit(1000 * SEEDED_ID_STEP)}`.execute(db)
  await sql`update projection.activity set tx_hash = 'changed'`.execute(db)
  const records = recordsOf(await read(response))
  t.equal(records.length, MANY)
  t.notOk(records.some(({ txHash }) => txHash === 'changed'))
  t.strictSame(
    records.map(({ id }) => id / SEEDED_ID_STEP),
    Array.from({ length: MANY }, (_, index) => MANY - index),
  )
  await until(async () => (await waiting({ db })).length === 0)
})

void t.test('exports that nobody reads leave the others their connections, and free their own', async (t) => {
  const { ask, db, app } = await listening(t)
  const first = await ask('127.0.0.2')
  const own = await ask('127.0.0.2')
  t.match(own, { statusCode: 503, headers: { 'retry-after': '1' } }, 'a second one of the same client')
  t.match(await read(own), /as many exports run as may/)
  const second = await ask('127.0.0.3', { accept: 'text/csv' })
  t.equal((await ask('127.0.0.4')).statusCode, 503)
  await until(async () => (await waiting({ db })).length === 2)
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, page) => app.inject(`/api/activity/history/${round * 30 + page + 1}`)),
    )
    t.ok(answers.every(({ statusCode }) => statusCode === 200))
  }
  t.equal((await waiting({ db })).length, 2, 'they still wait for their readers')
  first.destroy()
  second.destroy()
  await until(async () => (await waiting({ db })).length === 0)
  // Through the compression a client disappears as well.
  for (const client of ['127.0.0.2', '127.0.0.3']) {
    const packed = await ask(client, { 'accept-encoding': 'gzip' })
    t.match(packed, { statusCode: 200, headers: { 'content-encoding': 'gzip' } })
    packed.destroy()
  }
  const again = await askUntilFree(() => ask('127.0.0.2'))
  t.equal(again.statusCode, 200)
  t.equal(recordsOf(await read(again)).length, MANY)
})

void t.test('an export that loses its database is visibly cut off', async (t) => {
  const { ask, db } = await listening(t)
  const response = await ask('127.0.0.1')
  await until(async () => (await waiting({ db })).length === 1)
  const [pid] = await waiting({ db })
  await sql`select pg_terminate_backend(${pid})`.execute(db)
  await t.rejects(read(response), /aborted/)
  const again = await askUntilFree(() => ask('127.0.0.1'))
  t.equal(recordsOf(await read(again)).length, MANY, 'its place was freed')
})

void t.test('a reader that stands still, or takes too little, is cut off and frees its place', async (t) => {
  const { ask, db } = await listening(t, { exportTextWithinMs: 2_000 })
  const still = await ask('127.0.0.2')
  const dripping = await ask('127.0.0.3', { accept: 'text/csv' })
  // A kilobyte now and then keeps the connection busy, and would hold the place for hours.
  let isHeld = true
  const drip = async (): Promise<number> => {
    let bytes = 0
    for (; isHeld; await new Promise((resolve) => setTimeout(resolve, 20))) {
      bytes += (dripping.read(1_000) as Buffer | null)?.length ?? 0
    }
    return bytes
  }
  const dripped = drip()
  for (const places of [2, 0]) await until(async () => (await inTransactions(db)) === places)
  isHeld = false
  t.ok((await dripped) > 0, 'it had some')
  for (const one of [still, dripping]) await t.rejects(read(one), /aborted/)
  const [first, second] = [
    await askUntilFree(() => ask('127.0.0.4')),
    await askUntilFree(() => ask('127.0.0.5')),
  ]
  t.same([first.statusCode, second.statusCode], [200, 200], 'both places are free')
  const both = await Promise.all([read(first), read(second)])
  for (const body of both) t.equal(recordsOf(body).length, MANY, 'a reader that reads has all')
})
