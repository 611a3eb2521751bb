import { sql } from 'kysely'
import fc from 'fast-check'
import t from 'tap'
import { historyAnswer } from '../../../api/schemas/activity.ts'
import { HISTORY_PAGES } from '../../../api/queries/activity-pages.ts'
import { openReadDatabase } from '../../../api/queries/read-database.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { SEEDED_ID_STEP, seedRecords } from '../../helpers/seed-projection.ts'
import { rowsReadSoFar, scansOf } from '../../helpers/query-plan.ts'
import { cases } from '../../helpers/cases.ts'

async function page({ app }: TestApi, path = ''): Promise<{ payload: { id: number }[]; pages: number }> {
  const response = await app.inject(`/api/activity/history${path}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${response.body}`)
  return historyAnswer.parse(response.json())
}

void t.test('a record has exactly ten fields, in the order of the specification', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 2)
  const response = await api.app.inject('/api/activity/history')
  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(
    response.body,
    JSON.stringify({
      status: 'OK',
      payload: [
        {
          id: 2 * SEEDED_ID_STEP,
          txHash: `0x${'2'.padStart(64, '0')}`,
          event: 'CreateLoanOffer',
          loanId: '2',
          blockchain: 'DEVNET',
          networkId: '31337',
          contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
          loanType: 'ERC20FIL',
          createdAt: new Date(Date.UTC(2030, 0, 1, 0, 0, 2, 7)).toISOString(),
          updatedAt: new Date(Date.UTC(2030, 0, 1, 0, 0, 2, 120)).toISOString(),
        },
        {
          id: SEEDED_ID_STEP,
          txHash: `0x${'1'.padStart(64, '0')}`,
          event: 'CreateBorrowRequest',
          loanId: '1',
          blockchain: 'DEVNET',
          networkId: '31337',
          contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
          loanType: 'FILERC20',
          createdAt: new Date(Date.UTC(2030, 0, 1, 0, 0, 1, 7)).toISOString(),
          updatedAt: new Date(Date.UTC(2030, 0, 1, 0, 0, 1, 120)).toISOString(),
        },
      ],
      pages: 1,
    }),
  )
})

void t.test('all pages together are all records, newest first, each once', async (t) => {
  const api = await testApi(t)
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 160 }), async (count) => {
      await sql`truncate projection.activity, projection.activity_counts`.execute(api.db)
      await seedRecords(api.db, count)
      const first = await page(api)
      const ids: number[] = []
      for (let number = 1; number <= first.pages; number++) {
        const { payload, pages } = await page(api, `/${number}`)
        if (pages !== first.pages) return false
        if (number < pages && payload.length !== 25) return false
        ids.push(...payload.map(({ id }) => id))
      }
      const expected = Array.from({ length: count }, (_, index) => (count - index) * SEEDED_ID_STEP)
      return (
        first.pages === Math.ceil(count / 25) &&
        JSON.stringify(ids) === JSON.stringify(expected) &&
        (await page(api, `/${first.pages + 1}`)).payload.length === 0
      )
    }),
    { numRuns: cases(25), examples: [[0], [1], [24], [25], [26], [50], [51]] },
  )
  t.pass('held')
})

void t.test('text that is hostile to JSON arrives as it is', async (t) => {
  const api = await testApi(t, { asDocumented: false })
  await seedRecords(api.db, 1)
  const hostile = 'a"b\\c\nd\u2028é\u0001</script>'
  await sql`
    update projection.record_kinds set event = ${hostile}, loan_type = ${hostile}, blockchain = ${hostile},
      network_id = ${hostile}, contract_address = null where id = 2`.execute(api.db)
  await sql`update projection.activity set tx_hash = ${hostile}, loan_id = ${hostile}`.execute(api.db)
  const { body } = await api.app.inject('/api/activity/history/1')
  const said = { txHash: hostile, event: hostile, loanId: hostile, blockchain: hostile, networkId: hostile }
  const times = { createdAt: '2030-01-01T00:00:01.007Z', updatedAt: '2030-01-01T00:00:01.120Z' }
  const record = {
    ...{ id: SEEDED_ID_STEP, ...said, contractAddress: null, loanType: hostile },
    ...times,
  }
  t.equal(body, JSON.stringify({ status: 'OK', payload: [record], pages: 1 }))
})

void t.test('pages that are asked for at once are what they are one by one', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 1000)
  // As many as the API runs at once: on a busy machine it refuses those that wait.
  const numbers = [
    40,
    1,
    2,
    41,
    7,
    10 ** 15,
    10 ** 16,
    ...Array.from({ length: 25 }, (_, index) => index + 1),
  ]
  const ask = async (number: number): Promise<string> =>
    (await api.app.inject(`/api/activity/history/${number}`)).body
  const together = await Promise.all(numbers.map(ask))
  // Another version of the read model: nothing that is kept answers.
  await sql`update projection.fold_state set version = gen_random_uuid(), records = records`.execute(api.db)
  for (const [index, number] of numbers.entries())
    t.equal(together[index], await ask(number), `page ${number}`)
})

void t.test('a page is a positive integer, of any size', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 30)
  for (const path of ['', '/', '/1']) t.equal((await page(api, path)).payload.length, 25, path)
  for (const huge of ['3', '1000000', `${10n ** 15n}`, `${10n ** 30n}`, '9'.repeat(500), '9'.repeat(8_000)]) {
    t.strictSame(await page(api, `/${huge}`), { status: 'OK', payload: [], pages: 2 }, huge)
  }
  for (const bad of ['0', '-1', '1.5', '01', '1e3', '0x1', 'abc', '%20', '1%20', '١', 'null', "1'--", '+1']) {
    const response = await api.app.inject(`/api/activity/history/${encodeURI(decodeURI(bad))}`)
    t.equal(response.statusCode, 400, bad)
    t.strictSame(response.json(), { status: 'ERROR', message: 'page must be a positive integer' })
  }
})

void t.test('any page of a long history is the same few index look-ups', async (t) => {
  const { db } = await testDatabase(t)
  const count = 100_000
  await seedRecords(db, count)
  await sql`analyze projection.activity, projection.activity_counts`.execute(db)
  await db.connection().execute(async (session) => {
    await sql.raw(`prepare page (bigint[]) as ${HISTORY_PAGES.text}`).execute(session)
    const asked = [1, count / 50, count / 25, 10 ** 15].map((number) => [number])
    asked.push(Array.from({ length: 8 }, (_, index) => 1 + index * 500))
    for (const isKnown of [false, true]) {
      // Most databases have never analyzed the one row that tells the number of records.
      if (isKnown) await sql`analyze projection.fold_state`.execute(session)
      for (const mode of ['force_custom_plan', 'force_generic_plan']) {
        await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
        for (const numbers of asked) {
          const what = `${mode}: pages ${numbers.join()}`
          const list = `{${numbers.join()}}`
          const scans = await scansOf(session, `page('${list}')`, (table) => table.startsWith('activity'))
          const types = [...new Set(scans.map((scan) => scan['Node Type']))].sort()
          t.ok(types.length > 0 && types.every((type) => type.startsWith('Index')), `${mode} ${types.join()}`)
          const readOf = (table: string): number =>
            scans
              .filter((scan) => scan['Relation Name'] === table)
              .reduce((sum, scan) => sum + scan['Actual Rows'] * scan['Actual Loops'], 0)
          const there = numbers.filter((number) => number <= count).length
          t.equal(readOf('activity'), 25 * there, `${what}: their rows and no others`)
          t.equal(readOf('activity_counts'), 3 * there, `${what}: three counts each`)
        }
      }
    }
  })
})

void t.test('a statement is planned once, whatever is asked for', async (t) => {
  const { db, url } = await testDatabase(t)
  await seedRecords(db, 1000)
  const database = openReadDatabase(url, { connections: 1, onError: (error) => t.error(error) })
  t.teardown(() => database.close())
  for (let page = 1; page <= 12; page += 1) await database.rows(HISTORY_PAGES, [[`${page}`]])
  const { rows } = await sql<{ custom: number }>`
    select custom_plans as custom from pg_prepared_statements where name = ${HISTORY_PAGES.name}`.execute(
    database.db,
  )
  t.same(rows, [{ custom: 0 }])
})

void t.test('a plan that was made when nothing was there reads no more rows when much is', async (t) => {
  const { db, url } = await testDatabase(t)
  await sql`analyze projection.fold_state, projection.activity, projection.record_kinds, projection.activity_counts`.execute(
    db,
  )
  const database = openReadDatabase(url, { connections: 1, onError: (error) => t.error(error) })
  t.teardown(() => database.close())
  await database.rows(HISTORY_PAGES, [['1']])
  await seedRecords(db, 100_000)
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const read = (): Promise<number> => rowsReadSoFar(database.db, db, 'activity')
  const before = await read()
  await database.rows(HISTORY_PAGES, [['2000']])
  t.equal((await read()) - before, 25)
})
