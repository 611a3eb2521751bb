import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import type * as z from 'zod'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { historyAnswer, searchAnswer } from '../../../api/schemas/activity.ts'
import { statementFor } from '../../../api/queries/activity-search.ts'
import { MAX_TX_HASH } from '../../../shared/events/event-place.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { SEEDED_ID_STEP, seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'
import { cases } from '../../helpers/cases.ts'

type Answer = z.infer<typeof searchAnswer>

async function search({ app }: TestApi, query: Record<string, string> = {}): Promise<Answer> {
  const response = await app.inject({ url: '/api/activity', query })
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${response.body}`)
  return searchAnswer.parse(response.json())
}

async function walk(api: TestApi, query: Record<string, string>): Promise<Answer['payload']> {
  const all: Answer['payload'] = []
  for (let answer = await search(api, query); ;) {
    all.push(...answer.payload)
    if (answer.next === null) return all
    answer = await search(api, { ...query, before: `${answer.next}` })
  }
}

/** An indexer has made a record of this chain before. */
async function seedFilecoinKind(db: TestApi['db']): Promise<void> {
  await sql`insert into projection.record_kinds values
    (3, 'LendFIL/CollectPayback', 'FILERC20', 'FIL', 'testnet', null)`.execute(db)
}

void t.test('pages of any size, with any filters, are what the whole history says of them', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 120)
  await seedFilecoinKind(api.db)
  const history: Answer['payload'] = []
  for (const page of [1, 2, 3, 4, 5]) {
    const response = await api.app.inject(`/api/activity/history/${page}`)
    history.push(...historyAnswer.parse(response.json()).payload)
  }
  t.equal(history.length, 120)
  t.strictSame(await walk(api, {}), history)
  const value = <T extends string>(...values: T[]) =>
    fc.option(fc.constantFrom(...values), { nil: undefined })
  const filters = fc.record({
    loanType: value('ERC20FIL', 'FILERC20'),
    loanId: value('1', '2', '77', 'other-1'),
    event: value('CreateLoanOffer', 'CreateBorrowRequest', 'Withdraw'),
    blockchain: value('DEVNET', 'FIL'),
    networkId: value('31337', 'testnet'),
    txHash: value(`0x${'2'.padStart(64, '0')}`),
  })
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 200 }), async (given, limit) => {
      const wanted = Object.fromEntries(
        Object.entries(given).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
      ) as Record<string, string>
      const expected = history.filter((record) =>
        Object.entries(wanted).every(([name, text]) => record[name as keyof typeof record] === text),
      )
      const found = await walk(api, { ...wanted, limit: `${limit}` })
      return JSON.stringify(found) === JSON.stringify(expected)
    }),
    { numRuns: cases(60) },
  )
  t.pass('held')
})

void t.test('25 records unless asked otherwise; the last page has no next', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 50)
  const first = await search(api)
  t.equal(first.payload.length, 25)
  t.equal(first.next, first.payload.at(-1)?.id)
  t.equal((await search(api, { before: `${first.next}` })).next, null)
  t.strictSame(await search(api, { before: '1' }), { status: 'OK', payload: [], next: null })
})

void t.test('a search that cannot be meant is 400, and says what can be', async (t) => {
  const { app, db } = await testApi(t)
  await seedRecords(db, 3)
  await seedFilecoinKind(db)
  await seedNetwork(db, { network: 'evm:31337' })
  for (const [query, message] of [
    ...['0', '201', '-1', 'x', '1.5', ''].map(
      (limit) => [`limit=${limit}`, 'limit must be an integer from 1 to 200'] as const,
    ),
    ...['0', '-1', 'abc', '', '9999999999999999999'].map(
      (before) => [`before=${before}`, 'before must be the id of a record'] as const,
    ),
    ['limit=1&limit=2', 'limit must be given once'],
    ['event=Withdraw&event=Payback', 'event must be given once'],
    ['loanType=FIL', 'loanType must be one of ERC20FIL, FILERC20'],
    ['event=Nope', /^event must be one of CreateLoanOffer, ApproveRequest, .*LendFIL\/CollectPayback$/],
    ['event=createLoanOffer', /^event must be one of /],
    ['event=', /^event must be one of /],
    ['event=%00', /^event must be one of /],
    ['blockchain=fil', 'blockchain must be one of DEVNET, FIL'],
    ['blockchain=fil&loanId=1&event=Withdraw', 'blockchain must be one of DEVNET, FIL'],
    ['networkId=1', 'networkId must be one of 31337, testnet'],
    ['networkId=%00', 'networkId must not contain a NUL'],
    ['networkId=', 'networkId must not be empty'],
    ['loanId=', 'loanId must be a decimal number, or <prefix>-<decimal number>'],
    ['loanId=abc', 'loanId must be a decimal number, or <prefix>-<decimal number>'],
    [`loanId=${'9'.repeat(79)}`, 'loanId is too long: its number has at most 78 digits'],
    ['page=2', 'there is no parameter "page" here'],
    ['x'.repeat(8_000), `there is no parameter "${'x'.repeat(100)}" here`],
    [`txHash=${'x'.repeat(MAX_TX_HASH + 1)}`, `txHash must have at most ${MAX_TX_HASH} characters`],
  ] as const) {
    const response = await app.inject(`/api/activity?${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(errorAnswer.parse(response.json()).message, message, query)
    t.ok(response.body.length < 2_000)
  }
  for (const query of ['blockchain=FIL', 'networkId=testnet', 'event=LendFIL/CollectPayback']) {
    t.strictSame(await search({ app } as TestApi, Object.fromEntries(new URLSearchParams(query))), {
      ...{ status: 'OK', payload: [], next: null },
    })
  }
})

void t.test('a record is found by its txHash, though that is the text of a long voucher', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 3)
  const text = 'aB+/'.repeat(MAX_TX_HASH / 4)
  await sql`update projection.activity set tx_hash = ${text} where id = ${2 * SEEDED_ID_STEP}`.execute(api.db)
  const { payload } = await search(api, { txHash: text })
  t.match(payload, [{ id: 2 * SEEDED_ID_STEP, txHash: text }])
  t.equal(payload.length, 1)
})

void t.test(
  'a transaction hash is found in any case, a voucher also where its + came as it is',
  async (t) => {
    const api = await testApi(t)
    await seedRecords(api.db, 12)
    const hash = `0x${'b'.padStart(64, '0')}`
    for (const txHash of [hash, hash.toUpperCase(), hash.replace('b', 'B')]) {
      t.match((await search(api, { txHash })).payload, [{ id: 11 * SEEDED_ID_STEP, txHash: hash }], txHash)
    }
    await sql`update projection.activity set tx_hash = 'aB+/0xAB==' where id = ${SEEDED_ID_STEP}`.execute(
      api.db,
    )
    const asIs = await api.app.inject('/api/activity?txHash=aB+/0xAB==')
    t.match(asIs.json(), { payload: [{ id: SEEDED_ID_STEP }] })
    t.same((await search(api, { txHash: 'ab+/0xab==' })).payload, [], 'its letters are not those of another')
  },
)

void t.test('however rare a value is, the search for it reads no more than it answers', async (t) => {
  const { db } = await testDatabase(t)
  await seedRecords(db, 50_000)
  await sql`insert into projection.record_kinds
    select n, case n when 20 then 'Rare' else 'Kind ' || n end, 'ERC20FIL', 'OTHER', '1', null from generate_series(3, 20) n`.execute(
    db,
  )
  await sql`update projection.activity set kind = 3 + id % 7 where id % 5 = 0`.execute(db)
  await sql`update projection.activity set kind = 20
    where id in (select id from projection.activity order by id limit 3)`.execute(db)
  const filters = [
    ['event'],
    ['blockchain'],
    ['loanType'],
    ['event', 'networkId'],
    ['loanId'],
    ['txHash'],
  ] as const
  const values = { event: 'Rare', blockchain: 'OTHER', loanType: 'ERC20FIL', networkId: '1' }
  const ofRecord = { loanId: '7', txHash: `0x${'7'.padStart(64, '0')}` }
  const of: Record<string, string> = { ...values, ...ofRecord }
  // Without statistics, and with those of values that are frequent.
  for (const analyzed of [false, true]) {
    if (analyzed) await sql`vacuum analyze projection.activity, projection.record_kinds`.execute(db)
    await db.connection().execute(async (session) => {
      for (const [index, names] of filters.entries()) {
        for (const before of [false, true]) {
          const name = `search_${index}_${before}`
          const types = ['bigint', ...names.map(() => 'text'), ...(before ? ['bigint'] : [])]
          await sql
            .raw(`prepare ${name} (${types.join()}) as ${statementFor([...names], before).text}`)
            .execute(session)
          const given = [
            '25',
            ...names.map((one) => `'${of[one] ?? ''}'`),
            ...(before ? [`${40_000 * SEEDED_ID_STEP}`] : []),
          ]
          for (const mode of ['force_custom_plan', 'force_generic_plan']) {
            await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
            const scans = await scansOf(session, `${name}(${given.join()})`, (table) => table === 'activity')
            const read = rowsRead(scans)
            t.ok(read <= 1_000, `${names.join()} ${mode} ${analyzed ? 'analyzed ' : ''}reads ${read} rows`)
          }
          await sql.raw(`deallocate ${name}`).execute(session)
        }
      }
    })
  }
})

void t.test(
  'a page whose records are long is cut where it is large enough, and the next one goes on there',
  async (t) => {
    const api = await testApi(t)
    await seedRecords(api.db, 300)
    await sql`update projection.activity set tx_hash = repeat('v', 87384) where id > 50 * ${SEEDED_ID_STEP}`.execute(
      api.db,
    )
    const first = await api.app.inject('/api/activity?limit=200')
    t.ok(first.rawPayload.length < 2_000_000, `${first.rawPayload.length} bytes`)
    const ids = (await walk(api, { limit: '200' })).map(({ id }) => id / SEEDED_ID_STEP)
    t.strictSame(
      ids,
      Array.from({ length: 300 }, (_, index) => 300 - index),
    )
  },
)
