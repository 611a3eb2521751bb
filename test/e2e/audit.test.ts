import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createChannel, createdChannel, fundChannel } from '../../devnet/filecoin/channel-actions.ts'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { startProxy } from '../chain/sources/faulty-proxy.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps } from '../helpers/run-ops.ts'

t.setTimeout(240_000)

/** For the sessions of whoever connects with it: shorter than what the node is silent for. */
const SHORT_LIMIT = 'idle_in_transaction_session_timeout=3000'
const SILENT_MS = 5_000

void t.test('an audit of nothing says so and proves nothing', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const { erc20Loans: address } = await deployContracts(anvil.url)
  const evm = { blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 }
  const networks = { evm: [{ ...evm, erc20Loans: { address } }] }
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await untilSynced(db, anvil.url, indexer)
  t.equal(await indexer.stop(), 0)
  const said = 'evm:31337: the index holds no loan of it\nnothing was compared\n'
  t.match(await runOps(t, { databaseUrl, networks }, 'audit'), { code: 1, out: said })
  const { code, out } = await runOps(t, { databaseUrl, networks }, 'audit', '--json')
  t.equal(code, 1)
  t.match(JSON.parse(out), { loans: 0, channels: 0, differences: [], nothingToCompare: ['evm:31337'] })
  const wrong = { evm: [{ ...evm, erc20CollateralLock: { address } }] }
  const refused = await runOps(t, { databaseUrl, networks: wrong }, 'audit')
  t.not(refused.code, 0)
  t.match(refused.err, /erc20CollateralLock\.address 0x\S+ is an ERC20Loans: are the two swapped\?/)
  const other = await indexerProcess(t, { databaseUrl: (await testDatabase(t)).url, networks: wrong })
  other.start()
  await other.untilSays('are the two swapped?')
  // A signal at the very end of a process would be its end.
  await eventually('the program ends by itself', () => !other.isRunning)
  t.equal(await other.stop(), 2, 'a mistake in the configuration')
})

void t.test('an audit of a channel that lives', async (t) => {
  const { url: databaseUrl, db } = await testDatabase(t)
  const lotus = await startLotus({ tickMs: null, epochDurationS: 2, settleDelayEpochs: 5, seed: 'audit' })
  t.teardown(() => lotus.stop())
  const { chain } = lotus
  const proxy = await startProxy(t, lotus.url)
  const filecoin = [{ networkId: 'testnet', rpcUrls: [proxy.url], pollIntervalMs: 50 }]
  const maker = await chain.createWallet('secp256k1', 'maker')
  const other = await chain.createWallet('secp256k1', 'other')
  for (const wallet of [maker, other]) await chain.fund(wallet.address, 10n ** 24n)
  await chain.mine(3)
  const made = await createChannel(maker, maker.address, other.address, 1000n)
  await chain.mine(3)
  const living = createdChannel(await chain.waitFor(made), chain.letter)
  const indexer = await indexerProcess(t, { databaseUrl, networks: { filecoin } })
  indexer.start()
  const entries = async (): Promise<number> =>
    (await db.selectFrom('ledger.event_log').select('position').execute()).length
  await eventually('the creation is indexed', async () => (await entries()) === 1)

  await t.test('outlasts a node that is silent, while the index goes on', async (t) => {
    let asked = 0
    proxy.fault = async (requests) => {
      if (!requests.some(({ method }) => method.endsWith('StateReadState'))) return null
      asked += 1
      await fundChannel(maker, living.id, 5n)
      await chain.mine(3)
      await eventually('the index goes on', async () => (await entries()) === 2)
      await delay(SILENT_MS)
      return null
    }
    const ran = await runOps(
      t,
      { databaseUrl: `${databaseUrl}?${SHORT_LIMIT}`, networks: { filecoin } },
      'audit',
    )
    proxy.fault = () => null
    t.match(ran, { code: 0, out: /^0 loans and 1 channel compared, 0 differences\n$/ }, ran.err)
    t.equal(asked, 1)
  })

  t.equal(await indexer.stop(), 0)

  await t.test('says of which network nothing is indexed, and compares the others', async (t) => {
    const anvil = await startAnvil()
    t.teardown(() => anvil.stop())
    const { erc20Loans: address } = await deployContracts(anvil.url)
    const evm = [{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], erc20Loans: { address } }]
    const audit = (...args: string[]): ReturnType<typeof runOps> =>
      runOps(t, { databaseUrl, networks: { evm, filecoin } }, 'audit', ...args)
    const said = 'evm:31337 was never indexed: start the indexer first\n'
    const compared = '0 loans and 1 channel compared, 0 differences\n'
    const both = await audit()
    t.strictSame({ ...both, err: '' }, { code: 1, out: `${said}${compared}`, err: '' }, both.err)
    const { code, out } = await audit('--json')
    t.equal(code, 1)
    const rest = { finished: true, differences: [], neverIndexed: ['evm:31337'], nothingToCompare: [] }
    const proofs = { proven: [], notCovered: [] }
    t.strictSame(JSON.parse(out), { loans: 0, loansInPart: 0, channels: 1, ...rest, ...proofs })
    t.match(await audit('--network', 'evm:31337'), { code: 1, out: said })
    t.match(await audit('--network', 'filecoin:testnet'), { code: 0, out: compared })
    await db.updateTable('ledger.chain_position').set({ number: null, hash: null, time_s: null }).execute()
    t.match(await audit('--network', 'filecoin:testnet'), { code: 1, out: /^filecoin:testnet was never/ })
  })
})
