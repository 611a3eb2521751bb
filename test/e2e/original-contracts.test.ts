import { sql } from 'kysely'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { playQuirks, ZERO_BYTES32 } from '../../devnet/evm/quirks.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testApi } from '../helpers/api.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'

t.setTimeout(240_000)

interface LoanAnswer {
  payload: Record<'erc20Loan' | 'collateralLock', Record<string, string | null>>
}

void t.test(
  'what the original contracts allow: audit and verify find nothing, and a difference still',
  async (t) => {
    const { url: databaseUrl, db, app } = await testApi(t)
    const anvil = await startAnvil()
    t.teardown(() => anvil.stop())
    const deployment = await deployContracts(anvil.url)
    await createPlayer({ rpcUrl: anvil.url, deployment, seed: 40 }).playLoans(16)
    const loans = await playQuirks(anvil.url, deployment)
    const networks = {
      evm: [
        {
          ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
          erc20Loans: { address: deployment.erc20Loans },
          erc20CollateralLock: { address: deployment.erc20CollateralLock },
        },
      ],
    }
    const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks }, ...args)
    const indexer = await indexerProcess(t, { databaseUrl, networks })
    indexer.start()
    await untilSynced(db, anvil.url, indexer)
    t.equal(await indexer.stop(), 0)

    await t.test('audit, verify and a second opinion', async (t) => {
      t.match(await ops('audit'), { code: 0, out: /^24 loans and 0 channels compared, 0 differences\n/ })
      t.match(await ops('verify', '--network', 'evm:31337'), {
        code: 0,
        out: /0 missing, 0 different, 0 foreign/,
      })
      t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
    })

    await t.test('an event that says zero says zero', async (t) => {
      const loan = async (market: string, id: number): Promise<LoanAnswer['payload']> =>
        (await app.inject(`/api/loan/${market}/${id}`)).json<LoanAnswer>().payload
      t.match((await loan('ERC20', loans.zeroOffer)).erc20Loan, {
        secretHashB1: ZERO_BYTES32,
        paymentChannelId: null,
      })
      const zeros = { secretHashA1: ZERO_BYTES32, paymentChannelId: ZERO_BYTES32 }
      t.match((await loan('ERC20', loans.zeroApproval)).erc20Loan, zeros)
      t.match((await loan('FIL', loans.zeroRequest)).collateralLock, { ...zeros, secretHashB1: ZERO_BYTES32 })
      for (const id of [
        loans.acceptedUnapproved,
        loans.acceptedUnpaid,
        loans.acceptedTwice,
        loans.acceptedCancelled,
      ])
        t.equal((await loan('ERC20', id)).erc20Loan['state'], '5')
      t.match((await loan('FIL', loans.cancelledRequest)).collateralLock, { state: '4', secretA1: /^0x../ })
    })

    await t.test('a true difference is one, also where the contract or the index says zero', async (t) => {
      const cases: [field: string, market: string, id: number, value: string | null][] = [
        ['secretHashA1', 'ERC20FIL', loans.zeroApproval, `0x${'11'.repeat(32)}`],
        ['paymentChannelId', 'ERC20FIL', loans.acceptedTwice, ZERO_BYTES32],
        ['secretHashB1', 'ERC20FIL', loans.acceptedTwice, null],
        ['secretB1', 'ERC20FIL', loans.acceptedCancelled, null],
        ['secretHashA1', 'FILERC20', loans.cancelledRequest, ZERO_BYTES32],
        ['state', 'FILERC20', loans.zeroRequest, '0'],
      ]
      for (const [field, market, id, value] of cases) {
        const where = sql`where loan_type = ${market} and loan_id = ${String(id)}`
        const { rows } = await sql<{ part: string }>`
        select evm_part::text as part from projection.loans ${where}`.execute(db)
        const said = JSON.parse(rows[0]?.part ?? '{}') as object
        const put = (part: object): Promise<unknown> =>
          sql`update projection.loans set evm_part = ${JSON.stringify(part)}::json ${where}`.execute(db)
        await put({ ...said, [field]: value })
        const ran = await ops('audit')
        t.match(ran, { code: 1, out: /, 1 difference\n/ }, field)
        t.match(ran.out, `evm:31337 ${market} loan ${id}: ${field} is ${value ?? 'null'} in the index`)
        await put(said)
      }
      t.equal((await ops('audit')).code, 0)
    })
  },
)
