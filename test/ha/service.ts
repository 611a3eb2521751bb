import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { prepareQueue } from '../../indexer/prepare-queue.store.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { freePort } from '../helpers/free-port.ts'
import { indexerProcess, untilSynced, type Stage } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { serviceProgram } from '../helpers/service-program.ts'

export interface ServiceUrls {
  databaseUrl: string
  readDatabaseUrl: string
  redisUrl: string | null
}

/** A chain on which loans are played all the time, a real indexer and a real API. */
export interface Service {
  apiUrl: string
  /** The last block written; undefined while the database is away. */
  position(): Promise<number | undefined>
  /** Ends the playing, waits for the indexer, and returns how the log differs from the chain. */
  differences(): Promise<string[]>
}

export async function startService(t: Stage, urls: ServiceUrls): Promise<Service> {
  const db = connect(urls.databaseUrl, { name: 'ha-test', max: 2 })
  t.teardown(() => db.destroy())
  await migrate(db)
  await prepareQueue(db, urls.databaseUrl)
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 45 })
  const network = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  const indexer = await indexerProcess(t, { ...urls, networks: { evm: [network] } })
  indexer.start()
  await player.playLoans(2)
  await untilSynced(db, anvil.url, indexer)
  const apiUrl = await startApi(t, urls.readDatabaseUrl)

  const playing = new AbortController()
  const played = (async () => {
    while (!playing.signal.aborted) await player.playLoans(1)
  })()
  // The end of the run reports it.
  played.catch(() => undefined)
  t.teardown(async () => {
    playing.abort()
    await played.catch(() => undefined)
  })
  return {
    apiUrl,
    position: () => positionIn(db),
    async differences() {
      playing.abort()
      await played
      await untilSynced(db, anvil.url, indexer, 120_000)
      return (await compareWithChain(db, anvil.url, deployment)).differences.map(String)
    },
  }
}

async function positionIn(db: Db): Promise<number | undefined> {
  try {
    const row = await db.selectFrom('ledger.chain_position').select('number').executeTakeFirst()
    return row?.number ?? undefined
  } catch {
    return undefined
  }
}

async function startApi(t: Stage, databaseUrl: string): Promise<string> {
  const port = await freePort()
  const { path, flags } = serviceProgram('api/main')
  const { PATH, HOME } = process.env
  const settings = {
    DATABASE_URL: databaseUrl,
    API_PORT: `${port}`,
    API_RATE_LIMIT: 'off',
    LOG_LEVEL: 'error',
  }
  const child = fork(path, {
    execArgv: flags,
    // Its errors say why a read failed.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { PATH, HOME, ...settings },
  })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(
    'the API answers',
    () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    60_000,
  )
  return url
}
