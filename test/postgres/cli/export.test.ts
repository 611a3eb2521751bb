import t from 'tap'
import { testApi } from '../../helpers/api.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { runOps } from '../../helpers/run-ops.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

void t.test('an export has all records as the API has them, and all loans', async (t) => {
  const { app, db, url: databaseUrl } = await testApi(t)
  await ingestStories(db, tellStories(12, 45))
  const ops = (...args: string[]): ReturnType<typeof runOps> =>
    runOps(t, { databaseUrl, networks: {} }, 'export', ...args)
  const asked = (accept: string): Promise<{ body: string }> =>
    app.inject({ url: '/api/activity?after=1', headers: { accept } })

  const csv = await ops('activity', '--format', 'csv')
  t.equal(csv.code, 0, csv.err)
  t.equal(csv.out, (await asked('text/csv')).body)
  t.equal((await ops('activity')).out, (await asked('application/x-ndjson')).body)

  const loans = await ops('loans')
  t.equal(loans.code, 0, loans.err)
  const lines = loans.out.split('\n').slice(0, -1)
  t.equal(lines.length, (await db.selectFrom('projection.loans').select('id').execute()).length)
  t.ok(lines.length > 5)
  for (const line of lines) {
    const loan = JSON.parse(line) as {
      loanType: string
      loanId: string
      contract: Record<string, string | null>
      collateral: { state?: string } | null
      createdAt: string
    }
    const market = loan.loanType === 'ERC20FIL' ? 'ERC20' : 'FIL'
    const { payload } = (await app.inject(`/api/loan/${market}/${loan.loanId}`)).json<{
      payload: Record<string, Record<string, unknown>>
    }>()
    const half = payload[market === 'ERC20' ? 'erc20Loan' : 'collateralLock']
    t.match(half, loan.contract, `${market} ${loan.loanId}`)
    t.equal(half?.['createdAt'], loan.createdAt)
  }
  const table = (await ops('loans', '--format', 'csv')).out.split('\r\n')
  t.match(table[0], /^loanType,loanId,network,state,borrower,lender,token,principalAmount,/)
  t.equal(table.length, lines.length + 2)
})

void t.test('a mistaken argument is one line', async (t) => {
  const ran = await runOps(t, { databaseUrl: '', networks: {} }, 'export', 'everything')
  t.strictSame(ran, {
    code: 2,
    out: '',
    err: 'ops: it must be one of activity, loans (--help tells more)\n',
  })
})
