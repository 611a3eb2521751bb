import { sql } from 'kysely'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { contracts } from '../../devnet/evm/artifacts.ts'
import { acceptPeriod, deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { createRpc, hex } from '../../devnet/evm/rpc.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps, type Ran } from '../helpers/run-ops.ts'
import * as z from 'zod'

t.setTimeout(240_000)

void t.test('two deployments on one chain are two networks of one networkId', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  await createPlayer({ rpcUrl: anvil.url, deployment, seed: 43 }).playLoans(6)
  const rpc = createRpc(anvil.url)
  const [, lender = ''] = deployment.accounts
  const send = async (data: string, to?: string): Promise<string | null> => {
    const sent = { from: lender, data, gas: '0x5b8d80', ...(to === undefined ? {} : { to }) }
    const hash = await rpc.call(hex, 'eth_sendTransaction', sent)
    const receipt = z.object({ status: hex, contractAddress: hex.nullable() }).nullable()
    for (;;) {
      const mined = await rpc.call(receipt, 'eth_getTransactionReceipt', hash)
      if (mined === null) continue
      t.equal(mined.status, '0x1')
      return mined.contractAddress
    }
  }
  const { erc20Loans, token } = contracts
  const second = await send(erc20Loans.bytecode + erc20Loans.interface.encodeDeploy([acceptPeriod]).slice(2))
  if (second === null) throw new Error('nothing was deployed')
  const { six } = deployment.tokens
  await send(token.interface.encodeFunctionData('approve', [second, 10n ** 18n]), six)
  const terms = [`0x${'b1'.repeat(32)}`, '0x', 100n, 7n, six, 3600]
  await send(erc20Loans.interface.encodeFunctionData('createLoanOffer', terms), second)

  const chain = { blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 }
  const networks = {
    evm: [
      {
        ...chain,
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
      { ...chain, erc20Loans: { address: second, idPrefix: 'b' } },
    ],
  }
  const ops = (...args: string[]): Promise<Ran> => runOps(t, { databaseUrl, networks }, ...args)
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  const head = parseInt(await rpc.call(hex, 'eth_blockNumber'), 16)
  await eventually('both stand at the head', async () => {
    const rows = await db.selectFrom('ledger.chain_position').select(['network', 'number']).execute()
    return rows.length === 2 && rows.every(({ number }) => number === head)
  })
  t.equal(await indexer.stop(), 0)
  const { rows } = await sql<{ network: string; loan_id: string; network_id: string }>`
    select network, loan_id, evm_part->>'networkId' as network_id from projection.loans
    where loan_id like 'b-%' or loan_id = '1' and loan_type = 'ERC20FIL' order by loan_id`.execute(db)
  t.same(rows, [
    { network: 'evm:31337', loan_id: '1', network_id: '31337' },
    { network: 'evm:31337:b', loan_id: 'b-1', network_id: '31337' },
  ])
  t.match(await ops('audit'), { code: 0, out: /^7 loans and 0 channels compared, 0 differences\n/ })
  t.match(await ops('audit', '--network', 'evm:31337:b'), { code: 0, out: /^1 loan and/ })
  t.match(await ops('verify', '--network', 'evm:31337:b'), {
    code: 0,
    out: /0 missing, 0 different, 0 foreign/,
  })
  t.match((await ops('status')).out, /evm:31337 \(DEVNET\)[^]*evm:31337:b \(DEVNET\)/)
  const before = await ops('digest')
  t.equal((await ops('replay')).code, 0)
  t.equal((await ops('digest')).out, before.out)
  t.equal((await ops('reindex', '--network', 'evm:31337:b', '--from', '0')).code, 0)
  t.equal((await ops('digest')).out, before.out, 'reindex of one leaves both')
})
