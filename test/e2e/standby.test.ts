import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'

t.setTimeout(400_000)

void t.test('a second indexer stands by, and takes over when the first is killed', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 9 })
  const networks = {
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: '31337',
        rpcUrls: [anvil.url],
        wsUrl: anvil.wsUrl,
        pollIntervalMs: 50,
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const [first, second] = [
    await indexerProcess(t, { databaseUrl, networks }),
    await indexerProcess(t, { databaseUrl, networks }),
  ]
  const epoch = async (): Promise<number> =>
    (await db.selectFrom('ledger.chain_position').select('writer_epoch').executeTakeFirstOrThrow())
      .writer_epoch
  first.start()
  await player.playLoans(5)
  await untilSynced(db, anvil.url, first)
  second.start()
  await second.untilSays('standing by')
  const led = await epoch()
  await player.playLoans(5)
  await untilSynced(db, anvil.url, first)
  t.equal(await epoch(), led, 'the second one does not write')

  await first.kill()
  await player.playLoans(5)
  await untilSynced(db, anvil.url, second)
  t.ok((await epoch()) > led, 'the second one leads')
  const begun = new RegExp(`"role":"writer","writerEpoch":${await epoch()},"from":\\d+,"msg":"following"`)
  t.match(second.output, begun, 'and logs that it writes from here')
  first.start()
  await first.untilSays('standing by')
  t.equal(await second.stop(), 0)
  await player.playLoans(5)
  await untilSynced(db, anvil.url, first)
  t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
  t.equal(await first.stop(), 0)
})
