import t from 'tap'
import { testApi, type TestApi } from '../../helpers/api.ts'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { EVM, ingestStories } from '../../helpers/ingest-ledger.ts'
import { RandomChain } from '../../helpers/random-chain.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

type Fields = Record<string, string | null>

interface Explained {
  payload: Record<string, Fields> & { loanEvents: { id: number; event: string }[] }
  explain: Record<string, Record<string, number[]>>
}

const COLLATERAL_STATES = [
  'LendERC20/LockCollateral',
  'LendERC20/SignUnlockCollateralVoucher',
  'LendERC20/RedeemUnlockCollateralVoucher',
  'LendERC20/SettleUnlockCollateral',
  'LendERC20/CollectUnlockCollateral',
]

const UNEXPLAINED = ['id', 'createdAt', 'updatedAt']

async function explained({ app }: Pick<TestApi, 'app'>, path: string): Promise<Explained> {
  const response = await app.inject(path)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<Explained>()
}

void t.test('each field that is known names records of the loan, oldest first', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(4, 16, { handedIn: 0.5, rivals: true }))
  let fields = 0
  for (const path of Array.from({ length: 16 }, (_, index) => [
    `/api/loan/ERC20/${index + 1}`,
    `/api/loan/FIL/${index + 1}`,
  ]).flat()) {
    const plain = await api.app.inject(path)
    if (plain.statusCode === 404) continue
    const { explain, ...rest } = await explained(api, `${path}?explain=1`)
    t.strictSame(rest, plain.json(), `${path}: the rest is the lookup`)
    const ids = new Set(rest.payload.loanEvents.map(({ id }) => id))
    for (const [part, own] of Object.entries(explain)) {
      const known = Object.entries(rest.payload[part] ?? {}).filter(
        ([name, value]) => value !== null && !UNEXPLAINED.includes(name),
      )
      t.strictSame(Object.keys(own).sort(), known.map(([name]) => name).sort(), `${path} ${part}`)
      t.ok(
        Object.values(own).every((set) => set.length > 0 && set.every((id) => ids.has(id))),
        `${path} ${part}: records of the loan`,
      )
      fields += known.length
    }
  }
  t.ok(fields > 300, `${fields} fields`)
})

void t.test('a field names the events that its meaning comes from', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }))
  await ingestStories(api.db, { evm: [], filecoin: [], offchain: [], expected: [], awaited: [] })
  const { payload, explain } = await explained(api, '/api/loan/ERC20/1?explain=1')
  const eventsOf = (part: string, field: string): (string | undefined)[] =>
    (explain[part]?.[field] ?? []).map((id) => payload.loanEvents.find((one) => one.id === id)?.event)
  for (const [part, field, events] of [
    ['erc20Loan', 'lender', ['CreateLoanOffer']],
    ['erc20Loan', 'borrower', ['ApproveRequest']],
    ['erc20Loan', 'secretA1', ['Withdraw']],
    ['erc20Loan', 'state', ['CreateLoanOffer', 'ApproveRequest', 'Withdraw', 'Payback', 'AcceptRepayment']],
    ['filCollateral', 'amount', ['LendERC20/LockCollateral']],
    ['filCollateral', 'ethBorrower', ['ApproveRequest']],
    ['filCollateral', 'erc20LoanId', ['CreateLoanOffer']],
    ['filCollateral', 'state', COLLATERAL_STATES],
  ] as const)
    t.strictSame(eventsOf(part, field), events, `${part}.${field}`)
  t.match(eventsOf('filCollateral', 'signedVoucher').join(), 'LendERC20/SignCollateralVoucher')
  t.match(eventsOf('filCollateral', 'settlingAtHeight').join(), 'LendERC20/SettleUnlockCollateral')
})

void t.test('explain with asOf explains what was known then; another value is 400', async (t) => {
  const api = await testApi(t)
  await ingestStories(api.db, tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 }))
  const first = await explained(api, '/api/loan/FIL/1?explain=1&asOf=1000000')
  t.ok(Object.keys(first.explain['collateralLock'] ?? {}).length > 5)
  t.strictSame(first.explain['filLoan'], {}, 'no channel was known yet')
  const wrong = await api.app.inject('/api/loan/FIL/1?explain=yes')
  t.equal(wrong.statusCode, 400)
  t.equal(wrong.json<{ message: string }>().message, 'explain must be 1')
})

void t.test('an event that a reorg moved to another block is still the same record', async (t) => {
  const api = await testApi(t)
  const chain = new RandomChain(5)
  const epoch = await raiseEpoch(api.db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  for (const next of [chain.genesis(), chain.grow(4), chain.reorg(4, 5), chain.grow(2), chain.reorg(3, 4)])
    await ingestStep(api.db, EVM, epoch, next)
  const moved = await api.db
    .selectFrom('ledger.event_log')
    .select('subject')
    .where('op', '=', 'replace')
    .where('kind', '=', 'CreateLoanOffer')
    .execute()
  let checked = 0
  for (const { subject } of moved) {
    const path = `/api/loan/ERC20/${subject?.split('/')[1] ?? ''}?explain=1`
    if ((await api.app.inject(path)).statusCode === 404) continue
    const { payload, explain } = await explained(api, path)
    const offers = payload.loanEvents.filter(({ event }) => event === 'CreateLoanOffer')
    t.strictSame(
      explain['erc20Loan']?.['lender'],
      offers.slice(0, 1).map(({ id }) => id),
      path,
    )
    checked += 1
  }
  t.ok(checked > 0)
})
