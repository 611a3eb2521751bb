import { sql } from 'kysely'
import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader, ChainStep } from '../../../shared/events/chain-step.ts'
import { fillIndex } from '../../../bench/size-fill.ts'
import { LOANS_PAST } from '../../../api/queries/loans-past.ts'
import { MOMENTS } from '../../../api/queries/as-of.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { testDatabase } from '../../helpers/database.ts'
import { rowsRead, scansOf } from '../../helpers/query-plan.ts'
import { cases } from '../../helpers/cases.ts'
import { EVM, FILECOIN, handIn, ingestLedger, ingestStories } from '../../helpers/ingest-ledger.ts'
import { RandomChain, seededRandom } from '../../helpers/random-chain.ts'
import { RecordingClient } from '../../helpers/recording-client.ts'
import { openLedger, type Written } from '../../helpers/restless-ledger.ts'
import { tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

const LOANS = 8
const STEPS = 60
const QUESTIONS_EACH = 250

function lookups(loans: number): string[] {
  return Array.from({ length: loans }, (_, index) => [
    `/api/loan/ERC20/${index + 1}`,
    `/api/loan/FIL/${index + 1}`,
  ]).flat()
}

const LISTS = [
  '/api/orders/borrow/available',
  '/api/orders/borrow/closed?limit=3',
  '/api/orders/borrow/1',
  '/api/orders/lend/available?limit=2',
  '/api/orders/lend/closed',
  '/api/orders/lend/0.5',
]

/** Accounts on both chains, by the names that contracts and channels use. */
function accounts({ evm }: TwoChains): string[] {
  const named = evm.flatMap((event) =>
    Object.entries({ ...event.args, ...event.terms.values }).flatMap(([name, value]) => {
      if (name === 'borrower' || name === 'lender') return [String(value)]
      if (name !== 'filBorrower' && name !== 'filLender') return []
      return [Buffer.from(String(value).slice(2), 'hex').toString()]
    }),
  )
  return [...new Set(named)].slice(0, 6).map((account) => `/api/loans/account/${account}`)
}

/** Both chains and handed-in vouchers in a random order with reorgs, and a client that looks after each step. */
async function recordStories(api: TestApi, seed: number): Promise<RecordingClient> {
  const { app, db } = api
  const random = seededRandom(seed)
  const chains = tellStories(seed, LOANS, { people: 2 + (seed % 4), handedIn: 0.5, rivals: seed % 2 === 0 })
  const client = new RecordingClient(app, db, [...lookups(LOANS), ...LISTS, ...accounts(chains)], seed)
  let written: Written | undefined
  const note = (blocks: Written): void => void (written = blocks)
  const evm = await openLedger(db, EVM, chains.evm, random, 0.3, note)
  const filecoin = await openLedger(db, FILECOIN, chains.filecoin, random, 0.3, note)
  const offchain = [...chains.offchain].sort(() => (random.chance(0.5) ? 1 : -1))
  while (!evm.isDone() || !filecoin.isDone() || offchain.length > 0) {
    written = undefined
    const event = random.chance(0.3) ? offchain.pop() : undefined
    if (event !== undefined) await handIn(db, [event])
    else if (random.chance(0.5) ? !evm.isDone() : filecoin.isDone()) await evm.writeSome()
    else if (!filecoin.isDone()) await filecoin.writeSome()
    await client.look(written)
  }
  return client
}

/** A contract's chain whose reorgs give some transactions another loan. */
async function recordChain(api: TestApi, seed: number): Promise<RecordingClient> {
  const { app, db } = api
  const random = seededRandom(seed)
  const chain = new RandomChain(seed)
  const paths = [
    ...lookups(2 * LOANS).filter((path) => path.includes('ERC20')),
    ...LISTS.filter((path) => path.includes('lend')),
    '/api/loans/account/0x00000000000000000000000000000000000000b1?limit=2',
  ]
  const client = new RecordingClient(app, db, paths, seed)
  const epoch = await raiseEpoch(db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  for (let step = 0; step < STEPS; step += 1) {
    const depth = 1 + random.below(4)
    const isReorg = step > 0 && random.chance(0.3) && chain.blocks.length > depth
    const next =
      step === 0 ? chain.genesis() : isReorg ? chain.reorg(depth, depth + 1) : chain.grow(1 + random.below(2))
    const outcome = await ingestStep(db, EVM, epoch, next)
    if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
    const from = next.type === 'blocks' ? next.from : next.ancestor.number + 1
    await client.look({ network: EVM.network, from, to: next.to.number })
  }
  return client
}

void t.test('asOf gives again what a client saw at any moment, reorgs among them', async (t) => {
  const all = cases(10_000, 500)
  let answered = 0
  for (let seed = 1; answered < all && t.passing(); seed += 1)
    // A test of its own, which closes its connections.
    await t.test(`seed ${seed}`, async (t) => {
      const api = await testApi(t)
      const client = await (seed % 3 === 0 ? recordChain(api, seed) : recordStories(api, seed))
      const random = seededRandom(seed)
      for (let asked = 0; asked < QUESTIONS_EACH && answered < all; asked += 1, answered += 1) {
        const { url, expected } = client.ask(random)
        const { statusCode, body } = await api.app.inject(url)
        if (expected === null ? statusCode === 404 : body === expected) continue
        t.strictSame(JSON.parse(body), expected && JSON.parse(expected), url)
        t.fail(url)
        return
      }
      if (seed > 3) return
      const digest = await digestReadModel(api.db)
      const { signal } = new AbortController()
      await replay(api.db, { restart: true, signal, onProgress: () => undefined })
      t.same(await digestReadModel(api.db), digest, 'a replay gives the same past')
    })
  t.equal(answered, all)
})

void t.test('a loan that a reorg removed and brought back has no state of its earlier life', async (t) => {
  const { app, db } = await testApi(t)
  const { evm, filecoin, offchain } = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 })
  const [offer, made] = [evm[0], filecoin[0]]
  if (offer?.kind !== 'CreateLoanOffer' || made?.kind !== 'CreateChannel') throw new Error('another story')
  await handIn(db, offchain)
  const [contract, channels] = [await branching(db, EVM, offer), await branching(db, FILECOIN, made)]
  const stateOf = async (query = ''): Promise<string | null> => {
    const { payload } = (await app.inject(`/api/loan/ERC20/1${query}`)).json<{
      payload?: { erc20Loan: { state: string } }
    }>()
    return payload?.erc20Loan.state ?? null
  }
  const states: (string | null)[] = []
  for (const write of [
    () => contract(true),
    () => channels(true),
    () => contract(false),
    () => channels(false),
    () => contract(true),
  ]) {
    await write()
    states.push(await stateOf())
    t.equal(await stateOf('?asOf=2100-01-01T00:00:00Z'), states.at(-1), `after step ${states.length}`)
  }
  t.strictSame(states, ['0', '0.5', null, null, '0'])
})

/** Returns what writes the event's block, with or without it, in place of the one before. */
async function branching(
  db: TestApi['db'],
  identity: typeof EVM,
  event: ChainEvent,
): Promise<(isThere: boolean) => Promise<void>> {
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  const write = async (step: ChainStep): Promise<void> =>
    void t.equal(await ingestStep(db, identity, epoch, step), 'applied')
  const headerOf = (number: number, hash: string): BlockHeader => ({
    number,
    hash,
    parentHash: '',
    timeS: event.blockTimeS,
  })
  const before = headerOf(event.blockNumber - 1, 'before')
  const stretch = { to: before, headers: [before], events: [], evidence: [] }
  await write({ type: 'blocks', from: 0, after: null, ...stretch })
  let replaces: BlockHeader | undefined
  let branches = 0
  return async (isThere) => {
    branches += 1
    const to = headerOf(event.blockNumber, `branch-${branches}`)
    const events = isThere ? [{ ...event, blockHash: to.hash }] : []
    const next = { to, headers: [to], events, evidence: [] }
    await write(
      replaces === undefined
        ? { type: 'blocks', from: to.number, after: before, ...next }
        : { type: 'reorg', ancestor: before, replaces, ...next },
    )
    replaces = to
  }
}

void t.test('what asOf may be, and what it means before the first and after the last record', async (t) => {
  const { app, db } = await testApi(t)
  const chains = tellStories(1, 2, { market: 'erc20', end: 'repaid', handedIn: 1 })
  await ingestStories(db, chains)
  const get = async (asOf: string, loan = '1') => {
    const response = await app.inject(`/api/loan/ERC20/${loan}?asOf=${encodeURIComponent(asOf)}`)
    return { ...response, body: response.body, message: response.json<{ message?: string }>().message }
  }
  const now = (await app.inject('/api/loan/ERC20/1')).body
  for (const asOf of ['2100-01-01T00:00:00Z', '2100-01-01T00:00+01:00', '2100-01-01T00:00:00.123456-01:00']) {
    const { body, headers } = await get(asOf)
    t.equal(body, now, asOf)
    t.match(headers['cache-control'], 'max-age=0', 'may still change')
  }
  t.equal((await app.inject('/api/loan/ERC20/1?asOf=2100-01-01T00:00:00+01:00')).body, now, 'a plus as it is')
  t.match(await get('2020-01-01T00:00:00Z'), {
    statusCode: 404,
    message: 'there was no ERC20FIL loan 1 then',
  })
  for (const beyond of ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00+01:00'])
    t.match(await get(beyond), { statusCode: 404, message: 'there was no ERC20FIL loan 1 then' }, beyond)
  t.equal((await get('9999-12-31T23:59:59-01:00')).body, now, 'a time that UTC writes with five digits')
  t.match(await get('evm:31337@0'), { statusCode: 200 }, 'the first step wrote all blocks')
  t.match(await get('evm:31337@999999999999'), {
    statusCode: 404,
    message: /^evm:31337 is indexed up to block \d+, not 9/,
  })
  t.match(await get('evm:1@5'), {
    statusCode: 400,
    message: 'the network of asOf must be one of evm:31337, filecoin:testnet',
  })
  t.match(await get('777'), { statusCode: 404, message: 'there is no record 777' })
  t.match(await get('999999999999999999'), {
    statusCode: 404,
    message: 'there is no record 999999999999999999',
  })
  t.match(await get('1000000', '7'), { statusCode: 404, message: 'there was no ERC20FIL loan 7 then' })
  for (const asOf of [
    '0',
    '-1',
    'x',
    '',
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-13-21T10:00:00Z',
    '2026-02-30T10:00:00Z',
    '@5',
    'evm:1@',
    'evm:1@x',
  ])
    t.match(await get(asOf), { statusCode: 400, message: /^asOf must be the id of a record/ }, asOf)
  const { message } = (await app.inject('/api/loan/ERC20/1?asOf=1&asOf=2')).json<{ message: string }>()
  t.equal(message, 'asOf must be given once')
})

void t.test('an answer about the settled past may be kept; ETag, 304 and HEAD as everywhere', async (t) => {
  const { app, db } = await testApi(t)
  await ingestStories(db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  const cached = async (asOf: string) =>
    (await app.inject(`/api/loan/ERC20/1?asOf=${asOf}`)).headers['cache-control']
  const { rows } = await sql<{ first: string; number: number }>`
    select to_char(min(recorded_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as first, max(block_number) as number
    from ledger.event_log where network = 'evm:31337'`.execute(db)
  const { first = '', number = 0 } = rows[0] ?? {}
  t.equal(await cached('1000000'), 'public, max-age=86400', 'a record')
  t.equal(await cached(first), 'public, max-age=86400', 'a time before the last entry')
  t.match(await cached(`evm:31337@${number}`), 'max-age=0', 'a block that is not final')
  await sql`update ledger.chain_position set finalized_number = ${number}, finalized_hash = '0x'`.execute(db)
  t.equal(await cached(`evm:31337@${number}`), 'public, max-age=86400', 'a final block')
  for (const [path, kept] of [
    ['/api/orders/lend/closed', 'max-age=86400'],
    ['/api/loans/account/0x00000000000000000000000000000000000000b1', 'max-age=86400'],
    ['/api/loans/account/f099', 'max-age=0'],
  ] as const)
    t.match((await app.inject(`${path}?asOf=1000000`)).headers['cache-control'], kept, path)
  const url = '/api/loan/ERC20/1?asOf=1000000'
  const { headers } = await app.inject(url)
  t.equal((await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })).statusCode, 304)
  t.equal((await app.inject({ url, method: 'HEAD' })).headers.etag, headers.etag)
  t.equal(headers['x-indexed-evm-31337'], String(number))
})

void t.test('the past of a loan among many is found by indexes', async (t) => {
  const { db } = await testDatabase(t)
  const fill = { records: 20_000, withLog: true, eventsPerLoan: 10, onProgress: () => undefined }
  await fillIndex(db, fill)
  await db.connection().execute(async (session) => {
    for (const [name, types, values] of [
      ['lookup', 'text, text, bigint', `'ERC20FIL', 'f-700', 15000`],
      ['page', 'text[], bigint, bigint, bigint', `'{ERC20FIL/0}', null, 25, 15000`],
      ['time', 'timestamptz', `to_timestamp(1650012345)`],
      ['record', 'bigint', '12345000000'],
      ['block', 'text, bigint', `'evm:1', 5`],
    ] as const) {
      const { text } = { ...LOANS_PAST, ...MOMENTS }[name]
      await sql.raw(`prepare ${name} (${types}) as ${text}`).execute(session)
      for (const mode of ['force_custom_plan', 'force_generic_plan']) {
        await sql.raw(`set plan_cache_mode = ${mode}; set enable_seqscan = off`).execute(session)
        const scans = await scansOf(session, `${name}(${values})`, (table) => table !== 'record_kinds')
        t.ok(scans.length > 0 && rowsRead(scans) <= 150, `${name} ${mode} reads ${rowsRead(scans)} rows`)
      }
    }
  })
})

void t.test('a page as of a moment is bounded: it can be empty although others follow', async (t) => {
  const { app, db } = await testApi(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'cancelled' })
  const [offer, cancel] = [
    evm.find(({ kind }) => kind === 'CreateLoanOffer'),
    evm.findLast(({ kind }) => kind === 'CancelLoan'),
  ]
  if (offer === undefined || cancel === undefined) throw new Error('no offer that is cancelled')
  const offers = Array.from({ length: 4_500 }, (_, index) => ({
    ...offer,
    ...{ txHash: `offer-${index}`, loanId: String(index), contractLoanId: String(index), logIndex: index },
  }))
  const cancelled = offers.slice(3).map(({ loanId, contractLoanId, logIndex }) => ({
    ...cancel,
    ...{ txHash: `cancel-${loanId}`, loanId, contractLoanId, logIndex, blockNumber: offer.blockNumber + 1 },
  }))
  await ingestLedger(db, EVM, [...offers, ...cancelled])
  // One step wrote all: as if each had been open for a while.
  await sql`insert into projection.loan_lists_past (list, id, since, until)
    select 'ERC20FIL/0', id, id, 5000 from projection.loans where evm_part->>'state' = '6'`.execute(db)
  const pages: number[] = []
  const found: string[] = []
  for (let before = ''; ;) {
    const url = `/api/orders/lend/available?asOf=2100-01-01T00:00:00Z${before}`
    const { payload, next } = (await app.inject(url)).json<{
      payload: { id: string }[]
      next: number | null
    }>()
    pages.push(payload.length)
    found.push(...payload.map(({ id }) => id))
    if (next === null) break
    before = `&before=${next}`
  }
  t.strictSame(found, ['2', '1', '0'])
  t.ok(pages.length > 2 && pages[0] === 0, pages.join())
})

void t.test('a loan with more entries than are folded is refused', async (t) => {
  const { app, db } = await testApi(t)
  const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
  const last = evm.at(-1)
  if (last === undefined) throw new Error('no event')
  const more = Array.from({ length: 2_000 }, (_, index) => ({
    ...last,
    ...{ blockNumber: last.blockNumber + 1 + index, txHash: `${last.txHash}-${index}` },
  }))
  await ingestLedger(db, EVM, [...evm, ...more])
  t.equal((await app.inject('/api/loan/ERC20/1')).statusCode, 200)
  for (const query of ['asOf=2100-01-01T00:00:00Z', 'explain=1']) {
    const response = await app.inject(`/api/loan/ERC20/1?${query}`)
    t.equal(response.statusCode, 400)
    t.match(response.json<{ message: string }>().message, 'it has more than 2000 entries')
  }
})

void t.test(
  'a loan with more bytes of entries than are folded is refused, and left out of lists',
  async (t) => {
    const { app, db } = await testApi(t)
    const { evm } = tellStories(1, 1, { market: 'erc20', end: 'repaid' })
    const last = evm.at(-1)
    if (last === undefined) throw new Error('no event')
    const large = { ...last.args, filLender: `0x${'ab'.repeat(30_000)}` }
    const more = Array.from({ length: 40 }, (_, index) => ({
      ...last,
      ...{ blockNumber: last.blockNumber + 1 + index, txHash: `${last.txHash}-${index}` },
      args: large,
    })) as typeof evm
    await ingestLedger(db, EVM, [...evm, ...more])
    t.equal((await app.inject('/api/loan/ERC20/1')).statusCode, 200)
    for (const query of ['asOf=2100-01-01T00:00:00Z', 'explain=1']) {
      const response = await app.inject(`/api/loan/ERC20/1?${query}`)
      t.equal(response.statusCode, 400)
      t.match(response.json<{ message: string }>().message, 'it has more than 2048 KiB of entries')
    }
    const listed = await app.inject('/api/orders/lend/closed?asOf=2100-01-01T00:00:00Z')
    t.match(listed.json(), { status: 'OK', payload: [] })
  },
)
