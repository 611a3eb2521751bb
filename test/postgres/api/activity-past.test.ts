import { sql } from 'kysely'
import t from 'tap'
import { fillIndex } from '../../../bench/size-fill.ts'
import { pastStatementFor, searchPastActivity } from '../../../api/queries/activity-past.ts'
import { INDEXED_WAYS, MOST_LOANS } from '../../../api/queries/activity-search.ts'
import { valuesOf, type ActivityFilters, type ActivitySearch } from '../../../api/queries/activity-sql.ts'
import type { SearchAnswer } from '../../../api/schemas/activity.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { cases } from '../../helpers/cases.ts'
import { testDatabase } from '../../helpers/database.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { PastModel } from '../../helpers/past-model.ts'
import { literal, rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

type Page = { records: SearchAnswer['payload']; next: number | null }

async function walk(
  find: (next: number | null) => Promise<Page>,
): Promise<{ all: SearchAnswer['payload']; pages: number[] }> {
  const all: SearchAnswer['payload'] = []
  const pages: number[] = []
  for (let next: number | null = null; ;) {
    const page = await find(next)
    all.push(...page.records)
    pages.push(page.records.length)
    if (page.next === null) return { all, pages }
    if (page.next === next) throw new Error('the pages do not go on')
    next = page.next
  }
}

async function walkPast(
  { app }: TestApi,
  search: ActivitySearch,
  position: number,
): Promise<Awaited<ReturnType<typeof walk>>> {
  const cursor = search.after === undefined ? 'before' : 'after'
  return walk(async (next) => {
    const asked = next === null ? search : { ...search, [cursor]: String(next) }
    const { answer } = await searchPastActivity(app.database, asked, position)
    const { payload, next: following } = JSON.parse(answer) as SearchAnswer
    return { records: payload, next: following }
  })
}

void t.test('pages as of any moment, with any filters, are what stood in the history then', async (t) => {
  const all = cases(600)
  const random = seededRandom(43)
  const [model, api] = [new PastModel(random), await testApi(t)]
  await model.fill(api.db)
  let empty = 0
  for (let tried = 0; tried < all; tried += 1) {
    const position = random.chance(0.1) ? model.entries : random.below(model.entries)
    const search = model.search()
    const found = await walkPast(api, search, position)
    const said = found.all.map(
      ({ id, event, loanId, txHash, updatedAt }) => `${id} ${event} ${loanId} ${txHash} ${updatedAt}`,
    )
    const expected = model.expected(search, position)
    if (said.join() !== expected.join()) {
      t.strictSame(said, expected, `${JSON.stringify(search)} as of ${position}`)
      return
    }
    empty += found.pages.slice(0, -1).filter((records) => records === 0).length
  }
  t.ok(empty > 0, 'some pages had no record although others followed')
})

void t.test(
  'a page as of a moment reads no more than it examines, however many records were corrected',
  async (t) => {
    const { db } = await testDatabase(t)
    const records = 50_000
    await fillIndex(db, { records, withLog: true, eventsPerLoan: 10, onProgress: () => undefined })
    await sql`update projection.activity set kind = 26 where kind <> 26 and id % 3 = 0`.execute(db)
    await sql`insert into projection.record_kinds values (30, 'Rare', 'ERC20FIL', 'BENCH', '1', null)`.execute(
      db,
    )
    await sql`update projection.activity set kind = 30 where id <= 3000000`.execute(db)
    // Each record of a long range was corrected later, and each tenth of all twice.
    await sql`insert into projection.activity_past (id, since, until, kind, tx_hash, loan_id, created_at, updated_at)
    select id, id / 1000000, 49000, kind, tx_hash, loan_id, created_at, updated_at from projection.activity
    where id between 10000000000 and 45000000000`.execute(db)
    await sql`insert into projection.activity_past (id, since, until, kind, tx_hash, loan_id, created_at, updated_at)
    select id, 49000, 49500, kind, tx_hash, loan_id, created_at, updated_at from projection.activity
    where id between 10000000000 and 45000000000 and id % 10000000 = 0`.execute(db)
    await sql`insert into projection.loan_lists
    select 'f0' || n, n * 10 - 1, n * 10 - 1 from generate_series(100, 4900) n`.execute(db)
    const given: Record<(typeof INDEXED_WAYS)[number], ActivityFilters> = {
      all: {},
      kinds: { event: ['Rare'], blockchain: ['BENCH'] },
      loans: { loanId: ['f-1700', 'f-9'], account: ['f01700'] },
      transactions: { txHash: ['7', '8'] },
      accounts: { account: ['f01700', 'f0121'] },
    }
    const bounds = [
      {},
      { before: '40000000000', after: '100000000' },
      { from: new Date(1_650_012_000_000).toISOString(), to: new Date(1_650_040_000_000).toISOString() },
    ]
    const isRead = (table: string): boolean => table !== 'record_kinds'
    for (const analyzed of [false, true]) {
      if (analyzed) await sql`vacuum analyze`.execute(db)
      await db.connection().execute(async (session) => {
        await sql`set enable_seqscan = off`.execute(session)
        for (const way of INDEXED_WAYS) {
          for (const direction of ['asc', 'desc'] as const) {
            const name = `past_${way}_${direction}`
            await sql.raw(`prepare ${name} as ${pastStatementFor(way, direction).text}`).execute(session)
            for (const bound of bounds) {
              for (const position of [48_000, 49_200, records]) {
                const values = [...valuesOf({ ...bound, limit: 25, filters: given[way] }), position].map(
                  literal,
                )
                for (const mode of ['force_custom_plan', 'force_generic_plan']) {
                  await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
                  const read = rowsRead(await scansOf(session, `${name}(${values.join()})`, isRead))
                  t.ok(
                    read <= 1_500,
                    `${name} ${mode} ${position} ${JSON.stringify(bound)} ${analyzed} reads ${read} rows`,
                  )
                }
              }
            }
            await sql.raw(`deallocate ${name}`).execute(session)
          }
        }
      })
    }
  },
)

void t.test('asOf of a search: caching, mistakes, and what it cannot be asked of', async (t) => {
  const { app, db } = await testApi(t)
  await ingestStories(db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  for (const [query, kept] of [
    ['asOf=1000000', 'max-age=86400'],
    ['asOf=1000000&account=0x00000000000000000000000000000000000000b1', 'max-age=86400'],
    ['asOf=1000000&account=f099', 'max-age=0'],
    ['asOf=2100-01-01T00:00:00Z', 'max-age=0'],
  ] as const)
    t.match((await app.inject(`/api/activity?${query}`)).headers['cache-control'], kept, query)
  const url = '/api/activity?asOf=1000000'
  const { headers } = await app.inject(url)
  t.type(headers['x-indexed-evm-31337'], 'string')
  t.match(headers.vary, /\baccept\b(?!-)/)
  t.equal((await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })).statusCode, 304)
  t.equal((await app.inject({ url, method: 'HEAD' })).headers.etag, headers.etag)
  await sql`insert into projection.loan_lists
    select 'f077', -n, -n from generate_series(1, ${MOST_LOANS + 1}::integer) n`.execute(db)
  const future = 'asOf=2100-01-01T00:00:00Z'
  for (const [query, code, message] of [
    ['asOf=777', 404, 'there is no record 777'],
    ['asOf=yesterday', 400, /^asOf must be the id of a record/],
    ['asOf=1&asOf=2', 400, 'asOf must be given once'],
    ['asOf=evm:1@5', 400, 'the network of asOf must be one of evm:31337, filecoin:testnet'],
    ['asOf=evm:31337@999999999', 404, /^evm:31337 is indexed up to block \d+, not 999999999/],
    ['asOf=1000000&networkId=nope', 400, /^networkId must be one of /],
  ] as const) {
    for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
      const response = await app.inject({ url: `/api/activity?${query}`, headers: { accept } })
      t.equal(response.statusCode, code, query)
      t.match(response.json<{ message: string }>().message, message, query)
    }
  }
  for (const accept of ['application/json', 'text/csv']) {
    const response = await app.inject({ url: `/api/activity?${future}&account=f077`, headers: { accept } })
    t.match(response.json(), {
      message: 'asOf is not answered for these accounts: they have more than 1000 loans',
    })
    t.equal(response.statusCode, 400)
  }
  t.equal((await app.inject('/api/activity/history/1?asOf=1000000')).statusCode, 400)
})

void t.test('an export as of a moment has all records of the pages', async (t) => {
  const random = seededRandom(44)
  const [model, api] = [new PastModel(random), await testApi(t)]
  await model.fill(api.db)
  for (const [query, search] of [
    ['', {}],
    ['&after=1', { after: '1' }],
    ['&loanId=2', { filters: { loanId: ['2'] } }],
  ] as [string, Partial<ActivitySearch>][]) {
    // Three entries a second: the last one of second 800 is at position 2402.
    const url = `/api/activity?asOf=${new Date(Date.UTC(2030, 0, 1) + 800_000).toISOString()}${query}`
    const response = await api.app.inject({ url, headers: { accept: 'application/x-ndjson' } })
    const ids = response.body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { id: number }).id)
    const expected = await walkPast(api, { limit: 200, filters: {}, ...search }, 2_402)
    t.ok(ids.length > 100)
    t.strictSame(
      ids,
      expected.all.map(({ id }) => id),
      query,
    )
    t.match(response.headers, { 'cache-control': 'no-store' })
    const few = await api.app.inject({ url: `${url}&limit=30`, headers: { accept: 'text/csv' } })
    t.equal(few.body.split('\r\n').length, 32, 'a line of names, 30 records and an end')
  }
})
