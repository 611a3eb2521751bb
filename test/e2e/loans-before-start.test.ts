import { sql } from 'kysely'
import t from 'tap'
import * as z from 'zod'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { createRpc } from '../../devnet/evm/rpc.ts'
import { testApi } from '../helpers/api.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'

t.setTimeout(240_000)

void t.test('a loan that began before startBlock is marked, told of and compared in part', async (t) => {
  const { url: databaseUrl, db, app } = await testApi(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  await createPlayer({ rpcUrl: anvil.url, deployment, seed: 40 }).playLoans(16)
  const head = Number(await createRpc(anvil.url).call(z.string(), 'eth_blockNumber'))
  const market = (address: string): object => ({ address, startBlock: Math.floor(head / 2) })
  const evm = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
    erc20Loans: market(deployment.erc20Loans),
    erc20CollateralLock: market(deployment.erc20CollateralLock),
  }
  const networks = { evm: [evm] }
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks }, ...args)
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await untilSynced(db, anvil.url, indexer)
  t.equal(await indexer.stop(), 0)

  const { rows: begun } = await sql<{ subject: string }>`
    select subject from ledger.event_log where subject like 'ERC20FIL/%' or subject like 'FILERC20/%'
    group by subject having not bool_or(kind in ('CreateLoanOffer', 'CreateBorrowRequest'))`.execute(db)
  const count = begun.length
  t.ok(count > 1, 'loans began before it')
  const marked = await sql<{ subject: string }>`
    select loan_type || '/' || loan_id as subject from projection.loans where opened_s is null`.execute(db)
  t.same(marked.rows.map((row) => row.subject).sort(), begun.map((row) => row.subject).sort())

  const note = `; ${count} loans began before startBlock: their terms are not known`
  // A count may be half a minute old: the first of a new process is of all that is there.
  indexer.start()
  type Health = { networks: { note: string; synced: boolean }[] }
  const told = async (): Promise<string> =>
    (JSON.parse((await ops('status', '--json')).out) as Health).networks[0]?.note ?? ''
  await eventually('status says it', async () => (await told()).endsWith(note))
  t.match((await app.inject('/readyz')).body, note)
  t.match((await app.inject('/api/status')).body, note)
  t.ok((await ops('status')).out.includes(note))
  t.ok((await told()).startsWith('at the head'), 'the verdict is as before')
  t.equal(await indexer.stop(), 0)

  for (const { subject } of begun) {
    const [type, id] = subject.split('/')
    const part = type === 'ERC20FIL' ? 'erc20Loan' : 'collateralLock'
    const path = `/api/loan/${type === 'ERC20FIL' ? 'ERC20' : 'FIL'}/${id ?? ''}`
    const { payload } = (await app.inject(path)).json<{ payload: Record<string, object> }>()
    t.match(payload[part], { token: null, loanExpirationPeriod: null }, subject)
  }

  const partly = new RegExp(
    `compared \\(${count} loans only in part: they began before startBlock\\), 0 diff`,
  )
  t.match(await ops('audit'), { code: 0, out: partly })
  const json = await ops('audit', '--json')
  const answer = JSON.parse(json.out) as { loansInPart: number; differences: object[] }
  t.equal(answer.loansInPart, count)
  t.strictSame(answer.differences, [])

  t.equal((await ops('replay')).code, 0)
  const { rows: indexes } = await sql`
    select 1 from pg_index where indrelid = 'projection.loans'::regclass
      and pg_get_expr(indpred, indrelid) = '(opened_s IS NULL)'`.execute(db)
  t.equal(indexes.length, 1, 'a replay keeps the index of the mark')

  await sql`
    update projection.loans set evm_part = jsonb_set(evm_part::jsonb, '{state}', '"9"')::json
    where loan_type || '/' || loan_id = ${begun[0]?.subject ?? ''}`.execute(db)
  t.match(await ops('audit'), { code: 1, out: /state is 9 in the index.*/ }, 'what it says must be right')
})
