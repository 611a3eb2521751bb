import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import type * as z from 'zod'
import { eip55 } from '../../../shared/eip55.ts'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { historyAnswer, searchAnswer } from '../../../api/schemas/activity.ts'
import { MOST_EXAMINED, MOST_LOANS, statementFor, WAYS } from '../../../api/queries/activity-search.ts'
import { valuesOf, type ActivityFilters } from '../../../api/queries/activity-sql.ts'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { MAX_TX_HASH } from '../../../shared/events/event-place.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, ingestStories } from '../../helpers/ingest-ledger.ts'
import { literal, rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { RandomChain, seededRandom } from '../../helpers/random-chain.ts'
import { SEEDED_ID_STEP, seedNetwork, seedRecords } from '../../helpers/seed-projection.ts'
import { cases } from '../../helpers/cases.ts'
import { person, tellStories } from '../../helpers/two-chain-stories.ts'

type Answer = z.infer<typeof searchAnswer>
type Query = Record<string, string | string[]>

async function search({ app }: Pick<TestApi, 'app'>, query: Query = {}): Promise<Answer> {
  const response = await app.inject({ url: '/api/activity', query })
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${response.body}`)
  return searchAnswer.parse(response.json())
}

/** All pages, one after the other: with `after` forwards, else backwards. */
async function walk(api: Pick<TestApi, 'app'>, query: Query): Promise<Answer['payload']> {
  const all: Answer['payload'] = []
  for (let answer = await search(api, query); ;) {
    all.push(...answer.payload)
    if (answer.next === null) return all
    answer = await search(api, { ...query, ['after' in query ? 'after' : 'before']: `${answer.next}` })
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
  const values = <T extends string>(...known: T[]) =>
    fc.option(fc.uniqueArray(fc.constantFrom(...known), { minLength: 1 }), { nil: undefined })
  const filters = fc.record({
    loanType: values('ERC20FIL', 'FILERC20'),
    loanId: values('1', '2', '77', 'other-1'),
    event: values('CreateLoanOffer', 'CreateBorrowRequest', 'Withdraw'),
    blockchain: values('DEVNET', 'FIL'),
    networkId: values('31337', 'testnet'),
    txHash: values(`0x${'2'.padStart(64, '0')}`, `0x${'1'.padStart(64, '0')}`),
  })
  const moment = fc.option(
    fc.constantFrom(
      ...history.slice(0, 119).map(({ createdAt }) => createdAt),
      '2029-12-31T23:59:59+01:00',
      '2030-01-01',
      '2031-01-01',
    ),
    { nil: undefined },
  )
  const ids = fc.option(fc.constantFrom(...history.map(({ id }) => id)), { nil: undefined })
  const forwards = fc.record({ after: ids, before: ids, from: moment, to: moment })
  await fc.assert(
    fc.asyncProperty(filters, forwards, fc.integer({ min: 1, max: 200 }), async (given, range, limit) => {
      const said = Object.fromEntries(
        Object.entries({ ...given, ...range }).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, Array.isArray(value) ? value : `${value}`]],
        ),
      ) as Query
      const [from, to] = [beginOf(range.from), endOf(range.to)]
      if (from > to) return (await api.app.inject({ url: '/api/activity', query: said })).statusCode === 400
      const expected = history.filter(
        (record) =>
          Object.entries<readonly string[] | undefined>(given).every(
            ([name, any]) => any?.includes(record[name as keyof typeof given]) ?? true,
          ) &&
          record.id > (range.after ?? 0) &&
          record.id < (range.before ?? Infinity) &&
          Date.parse(record.createdAt) >= from &&
          Date.parse(record.createdAt) <= to,
      )
      if (range.after !== undefined) expected.reverse()
      const found = await walk(api, { ...said, limit: `${limit}` })
      return JSON.stringify(found) === JSON.stringify(expected)
    }),
    { numRuns: cases(200) },
  )
  t.pass('held')
})

const beginOf = (text = '1970-01-01'): number => Date.parse(text)
const endOf = (text = '9999-01-01'): number => Date.parse(text.length === 10 ? `${text}T23:59:59.999Z` : text)

void t.test('with `after` the records come oldest first, and new ones continue them', async (t) => {
  const api = await testApi(t)
  await seedRecords(api.db, 50)
  const first = await search(api, { after: `${20 * SEEDED_ID_STEP}`, limit: '10' })
  t.strictSame(
    first.payload.map(({ id }) => id / SEEDED_ID_STEP),
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
  )
  t.equal(first.next, 30 * SEEDED_ID_STEP)
  t.equal((await search(api, { after: `${first.next}` })).next, null)
  const last = { after: `${50 * SEEDED_ID_STEP}` }
  t.strictSame(await search(api, last), { status: 'OK', payload: [], next: null })
})

void t.test('the records of an account, by each of its names, are those of its loans', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(11, 24, { people: 4, handedIn: 1 }))
  await seedNetwork(api.db, { network: 'evm:31337' })
  const history = await walk(api, { limit: '200' })
  const { rows } = await sql<{ list: string; loans: string[] }>`
    select list, array_agg(loan_type || ' ' || loan_id) as loans from projection.loan_lists join projection.loans using (id)
    where list like '0x%' or list like 'f%' group by list`.execute(api.db)
  t.ok(rows.length > 3)
  for (const { list, loans } of rows) {
    const expected = history.filter(({ loanType, loanId }) => loans.includes(`${loanType} ${loanId}`))
    const names = list.startsWith('f')
      ? [list, list.replace('f', 't')]
      : [list, `0x${list.slice(2).toUpperCase()}`, eip55(list) ?? '']
    for (const account of names) {
      for (const limit of ['7', '200'])
        t.strictSame(await walk(api, { account, limit }), expected, `${account} ${limit} a page`)
      const forwards = await walk(api, { account, after: '1', limit: '9' })
      t.strictSame(forwards.reverse(), expected, `${account} forwards`)
      for (const [name, any] of [
        ['event', ['CreateLoanOffer', 'LendFIL/SignWithdrawVoucher']],
        ['loanType', ['FILERC20']],
      ] as ['event' | 'loanType', string[]][]) {
        const wanted = expected.filter((record) => any.includes(record[name]))
        t.strictSame(await walk(api, { account, [name]: any }), wanted, `${account} ${any.join()}`)
      }
    }
    const [first] = expected
    if (first === undefined) continue
    const both = await walk(api, { account: list, loanId: ['1', first.loanId] })
    t.strictSame(
      both,
      expected.filter(({ loanId }) => ['1', first.loanId].includes(loanId)),
    )
    const hashes = [first.txHash, history.at(-1)?.txHash ?? '']
    t.strictSame(
      await walk(api, { account: list, txHash: hashes }),
      expected.filter(({ txHash }) => hashes.includes(txHash)),
    )
  }
  const [one, two] = rows
  const either = new Set([...(one?.loans ?? []), ...(two?.loans ?? [])])
  t.strictSame(
    await walk(api, { account: [one?.list ?? '', two?.list ?? ''], limit: '13' }),
    history.filter(({ loanType, loanId }) => either.has(`${loanType} ${loanId}`)),
  )
  t.strictSame(await search(api, { account: 'f0999999' }), { status: 'OK', payload: [], next: null })
})

void t.test('a record that a reorg gave to a newer loan is still on its page of the account', async (t) => {
  const api = await testApi(t)
  const [random, chain] = [seededRandom(1), new RandomChain(1)]
  const epoch = await raiseEpoch(api.db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  await ingestStep(api.db, EVM, epoch, chain.genesis())
  for (let step = 0; step < 40; step += 1) {
    const depth = 1 + random.below(4)
    const isReorg = random.chance(0.3) && chain.blocks.length > depth
    await ingestStep(api.db, EVM, epoch, isReorg ? chain.reorg(depth, depth + 1) : chain.grow(2))
  }
  const { rows } = await sql<{ later: number }>`
    select count(*) as later from projection.activity join projection.loans using (loan_id)
    where loans.id > activity.id / 1000000`.execute(api.db)
  t.ok(Number(rows[0]?.later) > 0)
  const account = '0x00000000000000000000000000000000000000b1'
  const whole = await search(api, { account, limit: '200' })
  t.equal(whole.next, null)
  t.strictSame(await walk(api, { account, limit: '1' }), whole.payload)
})

void t.test('robust and ID address of one identity find the same records', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  const history = await walk(api, {})
  t.ok(history.length > 8)
  for (const role of ['lender', 'borrower']) {
    const { asWritten, id } = person(`${role} of 1/1`)
    for (const account of [asWritten, `f${asWritten.slice(1)}`, id ?? '', `f${(id ?? '').slice(1)}`])
      t.strictSame(await walk(api, { account }), history, `${role} ${account}`)
  }
})

const BUSY = { account: 'f099', loans: MOST_LOANS + 200 }

/** Records of as many loans as there are records; every third loan, of the first ones, is the busy account's. */
async function seedBusyAccount(db: TestApi['db'], records: number): Promise<void> {
  await seedRecords(db, records)
  await sql`update projection.activity set loan_id = (id / ${sql.lit(SEEDED_ID_STEP)})::text`.execute(db)
  await sql`insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index, created_at, updated_at)
    select case n % 2 when 0 then 'ERC20FIL' else 'FILERC20' end, n::text, n * 3, 'evm:31337', '{"state":"0"}', 1, 0, now(), now()
    from generate_series(1, ${records}::integer) n`.execute(db)
  await sql`insert into projection.loan_lists
    select 'f099', n * 9, n * 9 from generate_series(1, ${BUSY.loans}::integer) n
    union all select 'f0' || n, n * 3, n * 3 from generate_series(100, ${records}::integer) n`.execute(db)
}

void t.test('an account with more loans than a page looks at is found by examining records', async (t) => {
  const api = await testApi(t)
  const records = MOST_EXAMINED * 3
  await seedBusyAccount(api.db, records)
  const owned = Array.from({ length: BUSY.loans }, (_, index) => (index + 1) * 3)
  const idsOf = (found: Answer['payload']): number[] => found.map(({ id }) => id / SEEDED_ID_STEP)
  const { account } = BUSY
  // Its loans are old: the first pages have no record, and yet a next one.
  const first = await search(api, { account })
  t.same([first.payload, typeof first.next], [[], 'number'])
  t.strictSame(idsOf(await walk(api, { account, limit: '199' })), owned.toReversed())
  t.strictSame(idsOf(await walk(api, { account, after: '1', limit: '200' })), owned)
  const even = owned.filter((number) => number % 2 === 0)
  t.strictSame(idsOf(await walk(api, { account, event: 'CreateLoanOffer', limit: '200' })), even.toReversed())
  // Up to here it had few loans.
  const early = await search(api, { account, before: `${150 * SEEDED_ID_STEP}`, limit: '200' })
  t.strictSame([idsOf(early.payload).length, early.next], [49, null])
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
    ['after=1&after=2', 'after must be given once'],
    ['after=x', 'after must be the id of a record'],
    ['event=Withdraw&event=Nope', /^event must be one of /],
    [Array(33).fill('loanId=1').join('&'), 'loanId may be given at most 32 times'],
    ['account=f099&account=x', 'account must be an EVM address (0x…) or a Filecoin address (f… or t…)'],
    [
      'account=0x5fbDB2315678afecb367f032d93F642f64180aa3',
      'account has a wrong checksum: write it in lower case, or as EIP-55 spells it',
    ],
    ...['', 'yesterday', '2026-02-30', '2026-11-21T17:48:47', '1795283327'].flatMap((time) =>
      (['from', 'to'] as const).map(
        (name) => [`${name}=${time}`, new RegExp(`^${name} must be an ISO time with its zone`)] as const,
      ),
    ),
    ['from=2026-11-22&to=2026-11-21', 'from must not be later than to'],
    ['blockchain=DEVNET&blockchain=fil', 'blockchain must be one of DEVNET, FIL'],
    ['networkId=31337&networkId=1', 'networkId must be one of 31337, testnet'],
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
    t.strictSame(await search({ app }, Object.fromEntries(new URLSearchParams(query))), {
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
  await seedBusyAccount(db, 50_000)
  await sql`insert into projection.record_kinds
    select n, case n when 20 then 'Rare' else 'Kind ' || n end, 'ERC20FIL', 'OTHER', '1', null from generate_series(3, 20) n`.execute(
    db,
  )
  await sql`update projection.activity set kind = 3 + id % 7 where id % 5 = 0`.execute(db)
  await sql`update projection.activity set kind = 20
    where id in (select id from projection.activity order by id limit 3)`.execute(db)
  const rare = { event: ['Rare'], blockchain: ['OTHER'], loanType: ['ERC20FIL'], networkId: ['1'] }
  const hashes = ['7', '8'].map((digit) => `0x${digit.padStart(64, '0')}`)
  const given: Record<(typeof WAYS)[number], ActivityFilters> = {
    all: {},
    kinds: rare,
    loans: { loanId: ['7', '9'], account: ['f099'] },
    transactions: { txHash: hashes, account: ['f099'] },
    accounts: { account: ['f0120', 'f0121'] },
    window: { account: ['f099'] },
    'window-of-kinds': { account: ['f099'], ...rare },
  }
  const bounds = [
    {},
    { before: `${40_000 * SEEDED_ID_STEP}`, after: `${100 * SEEDED_ID_STEP}` },
    { from: '2030-01-01T00:00:10Z', to: '2030-01-01T10:00:00Z' },
  ]
  const isRead = (table: string): boolean => ['activity', 'loans', 'loan_lists'].includes(table)
  // Without statistics, and with those of values that are frequent.
  for (const analyzed of [false, true]) {
    if (analyzed)
      await sql`vacuum analyze projection.activity, projection.record_kinds, projection.loans, projection.loan_lists`.execute(
        db,
      )
    await db.connection().execute(async (session) => {
      await sql`set enable_seqscan = off`.execute(session)
      for (const way of WAYS) {
        for (const direction of ['asc', 'desc'] as const) {
          const name = `search_${way.replaceAll('-', '_')}_${direction}`
          await sql.raw(`prepare ${name} as ${statementFor(way, direction).text}`).execute(session)
          for (const bound of bounds) {
            const values = valuesOf({ ...bound, limit: 25, filters: given[way] }).map(literal)
            for (const mode of ['force_custom_plan', 'force_generic_plan']) {
              await sql.raw(`set plan_cache_mode = ${mode}`).execute(session)
              const read = rowsRead(await scansOf(session, `${name}(${values.join()})`, isRead))
              // Without statistics a window may read and sort a table that is small.
              const most = way.startsWith('window') ? (analyzed ? 5 : 12) * MOST_EXAMINED : 1_000
              t.ok(read <= most, `${name} ${mode} ${JSON.stringify(bound)} ${analyzed} reads ${read} rows`)
            }
          }
          await sql.raw(`deallocate ${name}`).execute(session)
        }
      }
    })
  }
})

void t.test(
  '32 accounts in a transaction with very many records cost a bounded number of look-ups',
  async (t) => {
    const api = await testApi(t)
    const { db } = api
    const records = MOST_EXAMINED * 3
    await seedBusyAccount(db, records)
    await sql`update projection.activity set tx_hash = '0xmany'`.execute(db)
    const accounts = Array.from({ length: 32 }, (_, index) => `f0${9_000_000 + index}`)
    const given = { txHash: ['0xmany'], account: [...accounts.slice(1), BUSY.account] }
    await db.connection().execute(async (session) => {
      await sql`set enable_seqscan = off`.execute(session)
      await sql`set plan_cache_mode = force_generic_plan`.execute(session)
      for (const direction of ['asc', 'desc'] as const) {
        await sql.raw(`prepare many as ${statementFor('transactions', direction).text}`).execute(session)
        const values = valuesOf({ limit: 25, filters: { ...given, account: accounts } }).map(literal)
        const scans = await scansOf(session, `many(${values.join()})`, (table) => table === 'loan_lists')
        const looks = scans.reduce((sum, scan) => sum + scan['Actual Loops'], 0)
        t.ok(looks > 0 && looks <= 32 * MOST_EXAMINED, `${direction}: ${looks} look-ups`)
        await sql`deallocate many`.execute(session)
      }
    })
    const owned = Array.from({ length: BUSY.loans }, (_, index) => (index + 1) * 3)
    const all = await walk(api, { ...given, limit: '200' })
    t.strictSame(
      all.map(({ id }) => id / SEEDED_ID_STEP),
      owned.toReversed(),
    )
  },
)

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
