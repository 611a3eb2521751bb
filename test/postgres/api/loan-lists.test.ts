import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { LOAN_LISTS } from '../../../api/queries/loan-lists.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, ingestLedger, ingestStories } from '../../helpers/ingest-ledger.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { person, tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

type Row = Record<string, unknown> & { id: string }

interface Orders {
  payload: Row[]
  next: number | null
}

interface Account {
  payload: { filLoans: Row[]; erc20Loans: Row[] }
  next: number | null
}

async function get<T>({ app }: Pick<TestApi, 'app'>, url: string): Promise<T> {
  const response = await app.inject(url)
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode} ${response.body}`)
  return response.json<T>()
}

/** All loans of a list, page by page. */
async function walk<T extends Orders | Account>(api: TestApi, url: string, limit: number): Promise<T[]> {
  const pages: T[] = []
  for (let before = ''; ;) {
    const page = await get<T>(api, `${url}?limit=${limit}${before}`)
    pages.push(page)
    if (page.next === null) return pages
    before = `&before=${page.next}`
  }
}

const idsOf = (rows: Row[]): string[] => rows.map(({ id }) => id)
const idsIn = ({ payload: { filLoans, erc20Loans } }: Account): string[] => [
  ...idsOf(filLoans).map((id) => `FIL/${id}`),
  ...idsOf(erc20Loans).map((id) => `ERC20/${id}`),
]

void t.test('every loan is once in the list of its state, in order, whatever the page', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(5, 60, { handedIn: 0.5, rivals: true }))
  const { rows } = await sql<{ type: string; loanId: string; state: string }>`
    select loan_type as type, loan_id as "loanId", coalesce(derived_state, evm_part->>'state') as state
    from projection.loans order by id desc`.execute(api.db)
  t.ok(new Set(rows.map(({ state }) => state)).size > 4, 'loans of many states')
  const sides = { borrow: 'FILERC20', lend: 'ERC20FIL' } as const
  const states = ['available', 'closed', '0', '0.5', '1', '2', '3', '4'] as const
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('borrow', 'lend'),
      fc.constantFrom(...states),
      fc.integer({ min: 1, max: 12 }),
      async (side, state, limit) => {
        const isOf = (one: string): boolean =>
          state === 'available'
            ? one.startsWith('0')
            : state === 'closed'
              ? !one.startsWith('0')
              : one === state
        const wanted = rows.filter(({ type, state: one }) => type === sides[side] && isOf(one))
        const pages = await walk<Orders>(api, `/api/orders/${side}/${state}`, limit)
        const found = pages.flatMap(({ payload }) => idsOf(payload))
        return found.join() === wanted.map(({ loanId }) => loanId).join()
      },
    ),
    { numRuns: 40 },
  )
  t.pass('held')
})

void t.test('an order is what its lookup says of the contract', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(3, 12, { end: 'open' }))
  for (const [side, route, half] of [
    ['borrow', 'FIL', 'collateralLock'],
    ['lend', 'ERC20', 'erc20Loan'],
  ] as const) {
    const { payload } = await get<Orders>(api, `/api/orders/${side}/available`)
    t.ok(payload.length > 0)
    for (const order of payload) {
      const loan = await get<{ payload: Record<string, unknown> }>(api, `/api/loan/${route}/${order.id}`)
      t.strictSame(order, loan.payload[half])
    }
  }
})

void t.test("an account's loans, by each of its names, are those in which it is a party", async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(11, 24, { people: 4, handedIn: 1 }))
  const all = [
    ...(await walk<Orders>(api, '/api/orders/borrow/available', 200)),
    ...(await walk<Orders>(api, '/api/orders/borrow/closed', 200)),
  ].flatMap(({ payload }) => payload)
  const accounts = new Set(
    all.flatMap(({ borrower, lender }) => [borrower, lender]).filter((one) => one !== null),
  )
  t.ok(accounts.size > 1)
  for (const account of accounts) {
    if (typeof account !== 'string') continue
    const whole = await get<Account>(api, `/api/loans/account/${account}`)
    const expected = all.filter(({ borrower, lender }) => [borrower, lender].includes(account))
    t.strictSame(idsOf(whole.payload.filLoans).sort(), idsOf(expected).sort())
    t.strictSame(await get(api, `/api/loans/account/${account.toLowerCase()}`), whole)
    t.strictSame(await get(api, `/api/loans/account/0x${account.slice(2).toUpperCase()}`), whole)
    for (const limit of [1, 3, 7]) {
      const pages = await walk<Account>(api, `/api/loans/account/${account}`, limit)
      t.ok(pages.every((page) => idsIn(page).length <= limit))
      t.strictSame(pages.flatMap(idsIn).sort(), idsIn(whole).sort(), `${limit} a page`)
    }
  }
})

void t.test('robust and ID address of one identity, with either letter, give the same loans', async (t) => {
  const api = await testApi(t)
  const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 })
  await ingestStories(api.db, chains)
  for (const number of [1]) {
    for (const role of ['lender', 'borrower']) {
      const { asWritten, id } = person(`${role} of 1/${number}`)
      const names = [asWritten, `f${asWritten.slice(1)}`, id ?? '', `f${(id ?? '').slice(1)}`]
      for (const name of names) {
        const found = await get<Account>(api, `/api/loans/account/${name}`)
        t.strictSame(idsIn(found), [`ERC20/${number}`], `${role} ${name}`)
      }
    }
  }
})

void t.test('a borrower whom only the channel names yet has the loan', async (t) => {
  for (const [market, role, key] of [
    ['erc20', 'borrower', 'ERC20/1'],
    ['fil', 'lender', 'FIL/1'],
  ] as const) {
    const api = await testApi(t)
    const chains = tellStories(1, 1, { market, end: 'repaid', handedIn: 1 })
    const begun = (filecoin: number): TwoChains => ({
      ...chains,
      evm: chains.evm.slice(0, 1),
      filecoin: chains.filecoin.slice(0, filecoin),
      offchain: chains.offchain.slice(0, 1),
    })
    const { asWritten, id } = person(`${role} of 1/1`)
    await ingestStories(api.db, begun(1))
    for (const name of [asWritten, id])
      t.strictSame(idsIn(await get(api, `/api/loans/account/${name}`)), [key])
    const side = market === 'fil' ? 'borrow' : 'lend'
    t.equal((await get<Orders>(api, `/api/orders/${side}/0.5`)).payload.length, 1)
    t.equal((await get<Orders>(api, `/api/orders/${side}/0`)).payload.length, 0)
    const stranger = await testApi(t)
    await ingestStories(stranger.db, { ...begun(0), offchain: [] })
    t.strictSame(idsIn(await get(stranger, `/api/loans/account/${asWritten}`)), [], 'without its channel')
  }
})

void t.test('entries have the whole parts, and the fields that a list shows', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 }))
  const lender = person('lender of 1/1').asWritten
  const { payload } = await get<Account>(api, `/api/loans/account/${lender}`)
  const [entry] = payload.filLoans
  const loan = await get<{ payload: Record<string, Record<string, unknown>> }>(api, '/api/loan/FIL/1')
  const { collateralLock, filLoan, filPayback } = loan.payload
  t.strictSame(entry, {
    id: '1',
    principalAmount: filLoan?.['principalAmount'],
    network: 'testnet',
    ethBorrower: collateralLock?.['borrower'],
    ethLender: collateralLock?.['lender'],
    state: filLoan?.['state'],
    ...{ collateralLock, filLoan, filPayback },
  })
})

void t.test('what is no account or state is 400; an account that nobody knows has no loans', async (t) => {
  const api = await testApi(t)
  const said = async (url: string): Promise<[number, string]> => {
    const response = await api.app.inject(url)
    return [response.statusCode, response.json<{ message: string }>().message]
  }
  const good = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  const nobody = { status: 'OK', payload: { filLoans: [], erc20Loans: [] }, next: null }
  for (const account of [good, good.toLowerCase(), 'f00', 't01234', 'f099'])
    t.strictSame(await get(api, `/api/loans/account/${account}`), nobody, account)
  t.match(await said(`/api/loans/account/${good.replace('F', 'f')}`), [
    400,
    'account has a wrong checksum: write it in lower case, or as EIP-55 spells it',
  ])
  for (const account of ['x', '0x12', `${good}00`, 'f', 'f01x', '%00', 'F099'])
    t.match(await said(`/api/loans/account/${account}`), [
      400,
      'account must be an EVM address (0x…) or a Filecoin address (f… or t…)',
    ])
  t.match(await said('/api/loans/account/t1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2ezb'), [
    400,
    /^account is no Filecoin address: its checksum is wrong; /,
  ])
  t.match(await said('/api/orders/borrow/5'), [
    400,
    'state must be one of available, closed, 0, 0.5, 1, 2, 3, 4',
  ])
  t.match(await said('/api/orders/lend/open'), [
    400,
    /^state must be one of available, closed, 0, 0\.5, .*, 6$/,
  ])
  for (const url of [
    '/api/orders/lend/available',
    '/api/orders/borrow/closed',
    `/api/loans/account/${good}`,
  ]) {
    t.match(await said(`${url}?before=0`), [400, 'before must be the `next` of another page'])
    t.match(await said(`${url}?limit=201`), [400, 'limit must be an integer from 1 to 200'])
    t.match(await said(`${url}?limit=1&limit=2`), [400, 'limit must be given once'])
    t.match(await said(`${url}?page=2`), [400, 'there is no parameter "page" here'])
    const { headers } = await api.app.inject(url)
    const again = await api.app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    t.equal(again.statusCode, 304)
    const head = await api.app.inject({ url, method: 'HEAD' })
    t.equal(head.headers.etag, headers.etag)
  }
})

void t.test('the contracts of each chain, as EIP-55 spells them', async (t) => {
  const api = await testApi(t)
  const contracts = {
    erc20Loans: { address: '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9', startBlock: 0, idPrefix: null },
    erc20CollateralLock: {
      address: '0x5fc8d32690cc91d4c39d9d3abcbd16989f875707',
      startBlock: 0,
      idPrefix: null,
    },
  }
  const second = {
    erc20Loans: { ...contracts.erc20Loans, address: `0x${'12'.repeat(20)}`, idPrefix: 'second' },
  }
  for (const [network, watched] of [
    ['evm:31337', contracts],
    ['evm:31337:second', second],
    ['evm:5', second],
    ['filecoin:testnet', { startEpoch: 0 }],
  ] as const)
    await sql`insert into ledger.chain_position (network, start_number, watched) values (${network}, 0, ${JSON.stringify(watched)})`.execute(
      api.db,
    )
  t.strictSame(await get(api, '/api/protocolContracts'), {
    status: 'OK',
    payload: {
      5: { ERC20Loans: { address: '0x1212121212121212121212121212121212121212' } },
      31337: {
        ERC20Loans: { address: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9' },
        ERC20CollateralLock: { address: '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707' },
      },
    },
  })
})

void t.test(
  'a loan that a reorg removes leaves every list, one that is agreed changes its list',
  async (t) => {
    const { db } = await testDatabase(t)
    const chains = tellStories(2, 8, { market: 'erc20', end: 'repaid' })
    await ingestLedger(db, EVM, chains.evm)
    const { rows } = await sql<{ lists: number; loans: number }>`
    select count(*) filter (where list like 'ERC20FIL/%')::integer as lists, (select count(*)::integer from projection.loans) as loans
    from projection.loan_lists`.execute(db)
    t.strictSame(rows, [{ lists: 8, loans: 8 }], 'one state each')
  },
)

void t.test('a page of an account with 10,000 loans, among others, reads little', async (t) => {
  const { db } = await testDatabase(t)
  await sql`insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index, created_at, updated_at)
    select 'ERC20FIL', n::text, n, 'evm:31337', '{"state":"0"}', 1, 0, now(), now() from generate_series(1, 20000) n`.execute(
    db,
  )
  await sql`insert into projection.loan_lists select case n % 2 when 0 then 'f099' else 'f0' || n end, n, n from generate_series(1, 20000) n
    union all select 'ERC20FIL/0', n, n from generate_series(1, 20000) n`.execute(db)
  for (const analyzed of [false, true]) {
    if (analyzed)
      await sql`vacuum analyze projection.loans, projection.loan_lists, projection.channels`.execute(db)
    await db.connection().execute(async (session) => {
      for (const [name, { text }] of Object.entries(LOAN_LISTS)) {
        await sql.raw(`prepare ${name} (text[], bigint, bigint) as ${text}`).execute(session)
        for (const mode of ['force_custom_plan', 'force_generic_plan']) {
          await sql.raw(`set plan_cache_mode = ${mode}; set enable_seqscan = off`).execute(session)
          const list = name === 'orders' ? 'ERC20FIL/0' : 'f099'
          for (const before of ['null', '10000']) {
            const scans = await scansOf(session, `${name}('{${list}}', ${before}, 25)`, (table) =>
              ['loans', 'loan_lists'].includes(table),
            )
            t.ok(rowsRead(scans) <= 100, `${name} ${mode} reads ${rowsRead(scans)} rows`)
          }
        }
        await sql.raw(`deallocate ${name}`).execute(session)
      }
    })
  }
})
