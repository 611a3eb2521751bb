import { fork } from 'node:child_process'
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  Contract,
  ContractFactory,
  Interface,
  JsonRpcProvider,
  MaxUint256,
  NonceManager,
  toUtf8Bytes,
  Wallet,
} from 'ethers'
import { startAnvil } from '../devnet/evm/anvil.ts'
import { connect } from '../shared/db/connect.ts'
import { memoryOf } from '../test/helpers/process-memory.ts'
import { scriptFlags } from '../test/helpers/script-flags.ts'
import { startServices } from '../test/helpers/services.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { machineFacts } from './measure.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The first of anvil's well-known test accounts. */
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const OFFERS_PER_TRANSACTION = 500
const BLOCK_GAS = 3_000_000_000n

/** Peak memory of the indexer while it reads `events` events from a real node, and where it stood on the way. */
export async function benchMemory(events: number, queue: 'postgres' | 'redis'): Promise<void> {
  const services = await startServices(['postgres', 'redis'])
  const anvil = await startAnvil({ historyBlocks: 1 })
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-bench-'))
  const databaseUrl = `${services.postgresUrl}/${services.template}`
  const db = connect(databaseUrl, { name: 'bench', max: 2 })
  try {
    console.log(machineFacts())
    const erc20Loans = await makeOffers(anvil.url, events)
    const networksFile = join(folder, 'networks.json')
    const network = {
      blockchain: 'DEVNET',
      networkId: '31337',
      rpcUrls: [anvil.url],
      erc20Loans: { address: erc20Loans },
    }
    await writeFile(networksFile, JSON.stringify({ evm: [network] }))
    const startedMs = performance.now()
    const child = fork(join(ROOT, 'dist/indexer/main.js'), {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        REDIS_URL: queue === 'redis' ? (services.redisUrl ?? '') : '',
        NETWORKS_FILE: networksFile,
        INDEXER_PORT: String(await freePort()),
        LOG_LEVEL: 'warn',
      },
      execArgv: scriptFlags('indexer'),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    console.log(`\n| records | seconds | resident MiB | peak MiB |\n|---|---|---|---|`)
    let next = events / 10
    for (;;) {
      await delay(100)
      if (child.exitCode !== null) throw new Error(`the indexer ended with code ${child.exitCode}`)
      const { records } = await db
        .selectFrom('projection.fold_state')
        .select('records')
        .executeTakeFirstOrThrow()
      if (records < next) continue
      const { residentMiB, peakMiB } = memoryOf(child.pid ?? 0)
      console.log(
        `| ${records} | ${((performance.now() - startedMs) / 1000).toFixed(1)} | ${residentMiB} | ${peakMiB} |`,
      )
      next = (Math.floor((records * 10) / events) + 1) * (events / 10)
      if (records >= events) break
    }
    child.kill('SIGTERM')
  } finally {
    await db.destroy()
    await anvil.stop()
    await services.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes `count` offers, many in a transaction, and returns the contract's address. */
async function makeOffers(url: string, count: number): Promise<string> {
  const provider = new JsonRpcProvider(url, 31337, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 20,
  })
  const wallet = new NonceManager(new Wallet(KEY, provider))
  const token = await deploy('TestToken', wallet, ['BENCH', 6])
  const loans = await deploy('ERC20Loans', wallet, [600])
  const batcher = await deploy('LoanBatcher', wallet, [])
  const [loansAt, tokenAt, batcherAt] = await Promise.all([
    loans.getAddress(),
    token.getAddress(),
    batcher.getAddress(),
  ])
  await send(token.getFunction('mint'), batcherAt, 10n ** 30n)
  const approve = token.interface.encodeFunctionData('approve', [loansAt, MaxUint256])
  await send(batcher.getFunction('batch'), [{ to: tokenAt, data: approve }])
  const offer = loans.interface.encodeFunctionData('createLoanOffer', [
    `0x${'11'.repeat(32)}`,
    toUtf8Bytes('t1qphxnf4aigxvz2ivk4zvumbvu2wcm6lu6pxwu2i'),
    1_000_000n,
    5n,
    tokenAt,
    600n,
  ])
  const calls = Array.from({ length: OFFERS_PER_TRANSACTION }, () => ({ to: loansAt, data: offer }))
  // Encoded once and sent from the node's own account: what is measured comes later.
  const transaction = {
    from: new Wallet(KEY).address,
    to: batcherAt,
    data: batcher.interface.encodeFunctionData('batch', [calls]),
    gas: `0x${(BLOCK_GAS / 10n).toString(16)}`,
  }
  for (let made = 0; made < count; made += OFFERS_PER_TRANSACTION) {
    await provider.send('eth_sendTransaction', [transaction])
    if (made % 20_000 === 0) console.error(`${made} offers made`)
  }
  provider.destroy()
  return loansAt
}

async function send(method: ReturnType<Contract['getFunction']>, ...args: unknown[]): Promise<void> {
  const sent = await method.send(...args, { gasLimit: BLOCK_GAS / 10n })
  await sent.wait()
}

async function deploy(name: string, wallet: NonceManager, args: unknown[]): Promise<Contract> {
  const file = new URL(`../devnet/contracts/out/${name}.json`, import.meta.url)
  const artifact = JSON.parse(await readFile(file, 'utf8')) as {
    abi: ConstructorParameters<typeof Interface>[0]
    bytecode: string
  }
  const deployed = await new ContractFactory(new Interface(artifact.abi), artifact.bytecode, wallet).deploy(
    ...args,
  )
  await deployed.waitForDeployment()
  return new Contract(await deployed.getAddress(), new Interface(artifact.abi), wallet)
}
