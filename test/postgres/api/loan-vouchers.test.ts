import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { LOAN_LIVES } from '../../../api/queries/loan-life.ts'
import { vouchersAnswer } from '../../../api/schemas/loan-next.ts'
import { signedVoucher, updateChannel, voucherFacts } from '../../helpers/channel-events.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { ingestLedger, ingestStories, FILECOIN, handIn } from '../../helpers/ingest-ledger.ts'
import { person, tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

/** Loan 1 of a market, all vouchers handed in; cut after some events of each ledger. */
function story(market: 'erc20' | 'fil', evm?: number, filecoin?: number): TwoChains {
  const chains = tellStories(1, 1, { market, end: 'repaid', handedIn: 1 })
  return { ...chains, evm: chains.evm.slice(0, evm), filecoin: chains.filecoin.slice(0, filecoin) }
}

async function vouchers({ app }: TestApi, path: string) {
  const answer = await app.inject(path)
  return vouchersAnswer.parse(answer.json())
}

async function apiWith(t: Test, chains: TwoChains): Promise<TestApi> {
  const api = await testApi(t)
  await ingestStories(api.db, chains)
  return api
}

void t.test('the vouchers of a token loan: seize and unlock, with who can redeem them when', async (t) => {
  const chains = story('erc20', 3, 1)
  const api = await apiWith(t, chains)
  const { payload, total } = await vouchers(api, '/api/loan/ERC20/1/vouchers')
  const [made] = chains.filecoin
  if (made?.kind !== 'CreateChannel') throw new Error('no channel')
  t.equal(total, 2)
  t.match(payload, [
    {
      role: 'collateral',
      channel: { network: 'filecoin:testnet', id: made.channelId, robust: made.channel, shown: true },
      use: 'seize',
      signedBy: 'borrower',
      signer: person('borrower of 1/1').asWritten,
      lane: '0',
      nonce: '0',
      amount: '5',
      text: /^text-of-/,
      redeemable: { now: true, from: null, until: null },
      supersededBy: null,
      redeemed: null,
    },
    {
      use: 'unlock',
      signedBy: 'lender',
      signer: person('lender of 1/1').asWritten,
      nonce: '1',
      amount: '0',
      // The lender keeps the secret B1 until it accepts the repayment.
      redeemable: { now: false, from: null, until: null },
      redeemed: null,
      problems: [],
    },
  ])
})

void t.test('a redeemed voucher says where, and the one below it on its lane is overruled', async (t) => {
  const chains = story('erc20')
  const api = await apiWith(t, chains)
  const { payload } = await vouchers(api, '/api/loan/ERC20/1/vouchers')
  const message = chains.filecoin.find(({ kind }) => kind === 'UpdateChannel')
  const [seize, unlock] = payload
  t.match(unlock, {
    use: 'unlock',
    redeemed: { txHash: message?.txHash, epoch: message?.blockNumber },
    redeemable: { now: false },
    problems: [],
  })
  t.equal(unlock?.redeemed?.time, new Date((message?.blockTimeS ?? 0) * 1000).toISOString())
  t.match(seize, {
    use: 'seize',
    supersededBy: unlock?.id,
    redeemed: null,
    redeemable: { now: false, from: null, until: null },
  })
  t.ok(seize?.problems.some(({ code }) => code === 'channel-settled'))
})

void t.test('the vouchers of a FIL loan: principal first, then payback', async (t) => {
  const api = await apiWith(t, story('fil'))
  const { payload } = await vouchers(api, '/api/loan/FIL/1/vouchers')
  t.same(
    payload.map(({ role, use, signedBy }) => [role, use, signedBy]),
    [
      ['principal', 'pay', 'lender'],
      ['payback', 'pay', 'borrower'],
    ],
  )
})

void t.test('a loan without a channel has no vouchers; an unknown loan is 404, a bad id 400', async (t) => {
  const api = await apiWith(t, story('erc20', 1, 0))
  t.same(await vouchers(api, '/api/loan/ERC20/1/vouchers'), { status: 'OK', payload: [], total: 0 })
  for (const [path, code, message] of [
    ['/api/loan/ERC20/2/vouchers', 404, /^there is no ERC20FIL loan 2/],
    ['/api/loan/FIL/1/vouchers', 404, /^there is no FILERC20 loan 1/],
    ['/api/loan/FIL/x/vouchers', 400, /^loanId must be/],
    ['/api/loan/FIL/1/vouchers?now=1', 400, /^there is no parameter "now"/],
    ['/api/loan/fil/1/vouchers', 404, /^there is no such route/],
  ] as const) {
    const answer = await api.app.inject(path)
    t.equal(answer.statusCode, code, path)
    t.match(answer.json<{ message: string }>().message, message)
  }
})

void t.test('an answer has a tag until a block arrives that changes it', async (t) => {
  const api = await apiWith(t, story('erc20', 3, 1))
  const path = '/api/loan/ERC20/1/vouchers'
  const first = await api.app.inject(path)
  const again = await api.app.inject({ url: path, headers: { 'if-none-match': first.headers.etag } })
  t.equal(again.statusCode, 304)
  t.equal((await api.app.inject({ method: 'HEAD', url: path })).headers.etag, first.headers.etag)
  await handIn(api.db, [
    signedVoucher(
      story('erc20').offchain[0]?.channel ?? '',
      person('borrower of 1/1').asWritten,
      voucherFacts({
        key: 'ff'.repeat(32),
        channelAddr: story('erc20').offchain[0]?.channel ?? '',
        nonce: '9',
      }),
    ),
  ])
  const later = await api.app.inject({ url: path, headers: { 'if-none-match': first.headers.etag } })
  t.equal(later.statusCode, 200)
  t.equal(vouchersAnswer.parse(later.json()).total, 3)
})

void t.test('an answer stays small, however many and long vouchers a party signs', async (t) => {
  const chains = story('erc20', 3, 1)
  const [seize] = chains.offchain
  if (seize?.kind !== 'SignedVoucher') throw new Error('no voucher')
  const more = Array.from({ length: 1500 }, (_, nth) =>
    signedVoucher(
      seize.channel,
      seize.signer,
      voucherFacts({
        key: nth.toString(16).padStart(64, '0'),
        channelAddr: seize.channel,
        lane: '1',
        nonce: String(nth),
        text: 'A'.repeat(2000),
        secretHash: `0x${'ab'.repeat(nth < 100 ? 60_000 : 32)}`,
      }),
    ),
  )
  const api = await apiWith(t, { ...chains, offchain: [...chains.offchain, ...more] })
  const answer = await api.app.inject('/api/loan/ERC20/1/vouchers')
  t.ok(answer.rawPayload.length < 2_000_000, `${answer.rawPayload.length} bytes`)
  const { payload, total } = vouchersAnswer.parse(answer.json())
  t.equal(total, 1502)
  t.ok(payload.length > 100 && payload.length <= 500, `${payload.length} are shown`)
})

void t.test('a loan among many is found by indexes', async (t) => {
  const api = await apiWith(t, story('erc20'))
  await sql`insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index,
      created_at, updated_at)
    select 'ERC20FIL', n::text, n, 'evm:31337', '{}', 1, 0, now(), now() from generate_series(10, 20000) n`.execute(
    api.db,
  )
  await sql`insert into projection.channels (network, robust, id, state, addresses, parties, secret_hashes,
      stated_loans, created_s, loan_type, loan_id, role, strength, claimants, shown, created_at, updated_at, since)
    select 'filecoin:testnet', n::text, 1000000 + n, '{}', '{}', '{}', '{}', '{}', 1, 'ERC20FIL', n::text, 'collateral',
      4, '{}', true, now(), now(), 1 from generate_series(10, 20000) n`.execute(api.db)
  await sql`insert into ledger.block_headers (network, number, hash, parent_hash, time_s)
    select 'evm:31337', n, '0x', '0x', n from generate_series(1000000, 1003000) n`.execute(api.db)
  await sql`analyze projection.loans, projection.channels, ledger.block_headers`.execute(api.db)
  await api.db.connection().execute(async (session) => {
    await sql.raw(`prepare life (text) as ${LOAN_LIVES.ERC20FIL.text}`).execute(session)
    for (const setting of ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off'])
      await sql.raw(`set ${setting}`).execute(session)
    const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(`explain execute life('1')`).execute(session)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    t.notMatch(plan, /Seq Scan on (?!(?:chain_position|fold_state) )/, plan)
    t.match(plan, /channels_(loan|shown)/)
    t.match(plan, /block_headers_pkey/)
  })
})

void t.test('one redemption by neither known party is shown as such', async (t) => {
  const chains = story('erc20', 3, 1)
  const [made] = chains.filecoin
  if (made?.kind !== 'CreateChannel') throw new Error('no channel')
  const api = await testApi(t)
  await ingestLedger(api.db, FILECOIN, [
    made,
    updateChannel({
      height: made.blockNumber + 1,
      to: made.channel,
      voucher: voucherFacts({ key: 'ee'.repeat(32), channelAddr: made.channel }),
      sender: person('a stranger'),
    }),
  ])
  await ingestStories(api.db, { ...chains, filecoin: [], offchain: [] })
  const { payload } = await vouchers(api, '/api/loan/ERC20/1/vouchers')
  t.match(payload, [
    { use: 'other', signedBy: null, signer: null, redeemed: { epoch: made.blockNumber + 1 } },
  ])
})
