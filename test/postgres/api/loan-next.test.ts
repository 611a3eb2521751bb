import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { nextAnswer } from '../../../api/schemas/loan-next.ts'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { ingestLedger, ingestStories, EVM } from '../../helpers/ingest-ledger.ts'
import { seedLoan } from '../../helpers/seed-projection.ts'
import { tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

const HOUR_S = 3600

/** Loan 1 after some events of each ledger and some vouchers; it expires an hour after its agreement. */
function story(market: 'erc20' | 'fil', evm: number, filecoin: number, vouchers: number): TwoChains {
  const chains = tellStories(1, 1, { market, end: 'repaid', handedIn: 1 })
  return {
    ...chains,
    evm: chains.evm.slice(0, evm).map(expiringIn(HOUR_S)),
    filecoin: chains.filecoin.slice(0, filecoin),
    offchain: chains.offchain.slice(0, vouchers),
  }
}

function expiringIn(seconds: number) {
  return (event: TwoChains['evm'][number]): TwoChains['evm'][number] => {
    if (event.kind !== 'ApproveRequest' && event.kind !== 'AcceptOffer') return event
    const loanExpiration = String(event.blockTimeS + seconds)
    const acceptExpiration = String(event.blockTimeS + 2 * seconds)
    const values = { ...event.terms.values, loanExpiration, acceptExpiration }
    return { ...event, terms: { ...event.terms, values } } as TwoChains['evm'][number]
  }
}

async function apiWith(t: Test, chains: TwoChains): Promise<TestApi> {
  const api = await testApi(t)
  await ingestStories(api.db, chains)
  return api
}

async function next({ app }: TestApi, path: string) {
  return nextAnswer.parse((await app.inject(path)).json()).payload
}

void t.test('the steps of a token loan, as its two halves go on', async (t) => {
  const steps = [] as string[]
  for (const [evm, filecoin, vouchers] of [
    [1, 0, 0],
    [1, 1, 0],
    [1, 1, 1],
    [2, 1, 1],
    [3, 1, 2],
    [4, 1, 2],
    [5, 1, 2],
    [5, 3, 2],
    [5, 5, 2],
  ] as const) {
    const api = await apiWith(t, story('erc20', evm, filecoin, vouchers))
    const { step, problems } = await next(api, '/api/loan/ERC20/1/next')
    steps.push(step)
    t.same(
      problems.filter(({ code }) => code !== 'wrong-amount'),
      [],
      step,
    )
  }
  t.same(steps, [
    ...['lock collateral', 'sign voucher', 'approve request', 'withdraw principal', 'repay'],
    ...['accept payback', 'unlock', 'unlock', 'closed'],
  ])
})

void t.test('the steps of a FIL loan', async (t) => {
  const steps = [] as string[]
  for (const [evm, filecoin, vouchers] of [
    [1, 0, 0],
    [1, 1, 0],
    [2, 1, 0],
    [2, 1, 1],
    [2, 4, 1],
    [2, 5, 2],
    [2, 6, 2],
    [3, 8, 2],
  ] as const) {
    const api = await apiWith(t, story('fil', evm, filecoin, vouchers))
    steps.push((await next(api, '/api/loan/FIL/1/next')).step)
  }
  t.same(steps, [
    ...['fund', 'approve offer', 'sign voucher', 'withdraw', 'repay'],
    ...['accept payback', 'accept payback', 'closed'],
  ])
})

void t.test('an approved loan: what each party can do, and until when', async (t) => {
  const chains = story('erc20', 2, 1, 1)
  const api = await apiWith(t, chains)
  const approved = chains.evm[1]
  if (approved?.kind !== 'ApproveRequest') throw new Error('not approved')
  const { actions } = await next(api, '/api/loan/ERC20/1/next')
  const loan = (await api.app.inject('/api/loan/ERC20/1')).json<{
    payload: { erc20Loan: { borrower: string }; filCollateral: { filBorrower: string } }
  }>().payload
  t.same(
    actions.map(({ action, actor }) => `${action} ${actor}`),
    [
      ...['withdraw borrower', 'cancelLoan lender', 'signUnlockVoucher lender'],
      ...['settleCollateral lender', 'settleCollateral borrower'],
    ],
  )
  t.match(actions[0], {
    address: loan.erc20Loan.borrower,
    chain: 'evm:31337',
    notBefore: null,
    notAfter: { time: new Date((approved.blockTimeS + HOUR_S) * 1000).toISOString() },
    basis: { network: 'evm:31337', block: approved.blockNumber, secondsPerBlock: null },
  })
  t.match(actions[4], { address: loan.filCollateral.filBorrower, chain: 'filecoin:testnet', notAfter: null })
})

void t.test('a block is estimated from the blocks that the index still remembers', async (t) => {
  const chains = story('erc20', 2, 1, 1)
  const api = await apiWith(t, chains)
  const { blockNumber, blockTimeS } = chains.evm[1] ?? { blockNumber: 0, blockTimeS: 0 }
  await sql`insert into ledger.block_headers (network, number, hash, parent_hash, time_s)
    values ('evm:31337', ${blockNumber - 10}, '0x', '0x', ${blockTimeS - 125})`.execute(api.db)
  const [withdraw] = (await next(api, '/api/loan/ERC20/1/next')).actions
  t.match(withdraw, {
    notAfter: { block: blockNumber + HOUR_S / 12.5 },
    basis: { block: blockNumber, secondsPerBlock: 12.5, time: new Date(blockTimeS * 1000).toISOString() },
  })
})

void t.test('a settled channel: when it can be collected, by the epochs of its network', async (t) => {
  const chains = story('erc20', 5, 4, 2)
  const api = await apiWith(t, chains)
  const settled = chains.filecoin.find(({ kind }) => kind === 'SettleChannel')
  if (settled?.kind !== 'SettleChannel') throw new Error('not settled')
  const { step, actions } = await next(api, '/api/loan/ERC20/1/next')
  t.equal(step, 'unlock')
  const time = new Date((settled.blockTimeS + 1440 * 30) * 1000).toISOString()
  t.match(
    actions,
    ['lender', 'borrower'].map((actor) => ({
      ...{ action: 'collectCollateral', actor, notBefore: { time, epoch: settled.blockNumber + 1440 } },
      basis: { network: 'filecoin:testnet', secondsPerEpoch: 30 },
    })),
  )
})

void t.test('an empty block moves the basis, and an action goes with its time', async (t) => {
  const chains = story('erc20', 2, 1, 1)
  const api = await apiWith(t, chains)
  const path = '/api/loan/ERC20/1/next'
  const before = await api.app.inject(path)
  const same = await api.app.inject({ url: path, headers: { 'if-none-match': before.headers.etag } })
  t.equal(same.statusCode, 304)
  await sql`update ledger.chain_position set number = number + 1, time_s = time_s + ${2 * HOUR_S}
    where network = 'evm:31337'`.execute(api.db)
  const after = await api.app.inject({ url: path, headers: { 'if-none-match': before.headers.etag } })
  t.equal(after.statusCode, 200, 'no record changed, and the answer did')
  const { actions, problems, step } = nextAnswer.parse(after.json()).payload
  t.notOk(actions.some(({ action }) => action === 'withdraw'))
  t.ok(problems.some(({ code }) => code === 'loan-expired'))
  t.equal(step, 'withdraw principal', 'the step follows from the states alone')
})

void t.test('a contract that names another channel is pointed out', async (t) => {
  const chains = story('erc20', 2, 1, 1)
  const approved = chains.evm[1]
  if (approved?.kind !== 'ApproveRequest') throw new Error('not approved')
  const paymentChannelId = `0x${Buffer.from('t0999').toString('hex').padEnd(64, '0')}`
  const evm = [chains.evm[0], { ...approved, args: { ...approved.args, paymentChannelId } }].filter(
    (event) => event !== undefined,
  )
  const api = await apiWith(t, { ...chains, evm })
  t.match((await next(api, '/api/loan/ERC20/1/next')).problems, [{ code: 'other-channel-named' }])
})

void t.test('a loan whose beginning is not indexed', async (t) => {
  const api = await testApi(t)
  await ingestLedger(api.db, EVM, story('erc20', 3, 0, 0).evm.slice(1))
  const { step, problems } = await next(api, '/api/loan/ERC20/1/next')
  t.equal(step, 'repay')
  t.same(
    problems.map(({ code }) => code),
    ['beginning-unknown', 'named-channel-not-linked'],
  )
})

void t.test('nothing is indexed but the loan; and an unknown loan', async (t) => {
  const api = await testApi(t)
  const part = { state: '1', borrower: '0xb', lender: null, loanExpiration: '99999999999999999999' }
  await seedLoan(api.db, { loanType: 'ERC20FIL', loanId: '7', id: 1, part })
  const { actions } = await next(api, '/api/loan/ERC20/7/next')
  t.match(actions, [
    { action: 'withdraw', address: '0xb', notAfter: null, basis: null },
    { action: 'cancelLoan', address: null },
  ])
  t.equal((await api.app.inject('/api/loan/FIL/7/next')).statusCode, 404)
  t.equal((await api.app.inject('/api/loan/ERC20/7x/next')).statusCode, 400)
  t.equal((await api.app.inject('/api/loan/ERC20/7/next?at=now')).statusCode, 400)
})
