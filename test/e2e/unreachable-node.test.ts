import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { testApi } from '../helpers/api.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'

t.setTimeout(200_000)

void t.test('an indexer that starts while no node can be reached waits for one', async (t) => {
  const { app, db, url: databaseUrl } = await testApi(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const { erc20Loans } = await deployContracts(anvil.url)
  const link = await untrustyLink(t, anvil.url)
  await link.cut()
  const network = { blockchain: 'DEVNET', networkId: '31337', rpcUrls: [link.url], pollIntervalMs: 50 }
  const networks = { evm: [{ ...network, erc20Loans: { address: erc20Loans } }] }
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await indexer.untilSays('ECONNREFUSED: it is tried again until it answers')
  await eventually('readiness says why', async () =>
    /^\{"status":"ERROR","message":"evm:31337: retrying: the node does not answer as needed \(endpoint 1\)/.test(
      (await app.inject('/readyz')).body,
    ),
  )
  await link.mend()
  await untilSynced(db, anvil.url, indexer)
  await eventually('it is ready', async () => (await app.inject('/readyz')).statusCode === 200)
  t.equal(await indexer.stop(), 0)
})
