import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnvil, type Anvil } from '../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import { createRandom } from '../../devnet/evm/random.ts'
import { startFaultProxy, type FaultProxy } from '../../devnet/faults/fault-proxy.ts'
import type { FaultKinds } from '../../devnet/faults/fault.ts'
import { transportFaults } from '../../devnet/faults/transport-faults.ts'
import {
  bringWeather,
  evmFaults,
  lotusFaults,
  survivable,
  type Weather,
} from '../../devnet/faults/weather.ts'
import { startLotus, type Lotus } from '../../devnet/filecoin/lotus.ts'
import { voucherOutbox, type VoucherOutbox } from '../../devnet/loans/voucher-outbox.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { freePort } from '../helpers/free-port.ts'
import { startDatabase, type DatabaseServer } from './database-server.ts'
import { startRedis, type RedisServer } from './redis-server.ts'
import { ServiceProcess } from './service-process.ts'
import { createWallClock } from './wall-clock.ts'

/** The parts of a simulation: chains with proxies before them, database, queue, programs. */
export interface Stage {
  seed: string
  /** The seed's choices, for the report. */
  setUp: string
  folder: string
  anvil: Anvil
  deployment: Deployment
  lotus: Lotus
  player: Player
  outbox: VoucherOutbox
  database: DatabaseServer
  db: Db
  /** Undefined: the queue is in Postgres. */
  redis: RedisServer | undefined
  proxies: FaultProxy[]
  weathers: Weather[]
  indexers: ServiceProcess[]
  api: ServiceProcess
  apiUrl: string
  stop(): Promise<void>
}

export const SETTLE_DELAY = 5
const EPOCH_S = 2
/** The service follows its nodes closely in some simulations; in others they make several blocks between its looks. */
const POLL_INTERVALS_MS = [100, 400, 1000]
const SEVERITY = 3
/** Contracts name channels by IDs that must not change afterwards, so no reorg of the Filecoin chain is deeper. */
const CONFIDENCE = 12

export interface StageOptions {
  seed: string
  /** True when the seed may put the queue in Redis. */
  hasRedis: boolean
  /** True when the programs run as compiled by `npm run build`. */
  isBuilt: boolean
  /** Endpoints of each network, instead of the seed's choice. */
  endpoints?: 1 | 2
  /** The queue's kind, instead of the seed's choice; Redis must be installed. */
  queue?: 'postgres' | 'redis'
  /** Interval of the service's looks at its nodes, instead of the seed's choice. */
  pollIntervalMs?: number | undefined
  /** Newest blocks whose state the EVM node keeps (1000). */
  historyBlocks?: number
  /** The database uses the machine's disk, which cannot be filled up. */
  hasLargeDisk?: boolean
}

export async function setStage(options: StageOptions): Promise<Stage> {
  const { seed, hasRedis, isBuilt, endpoints, queue } = options
  const random = createRandom(`${seed}/stage`)
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one().catch(() => undefined)
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'loan-activity-simulation-'))
    const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
    // An interrupted simulation must leave nothing behind.
    process.once('exit', removeFolder)
    stops.push(() => {
      process.off('exit', removeFolder)
      removeFolder()
      return Promise.resolve()
    })
    const database = await startDatabase({ hasLargeDisk: options.hasLargeDisk ?? false })
    stops.push(() => database.stop())
    const db = connect(database.url, { name: 'simulation', max: 4, onError: () => undefined })
    stops.push(() => db.destroy())
    const isChosen = random.chance(0.5)
    const isOnRedis = queue === undefined ? hasRedis && isChosen : queue === 'redis'
    const redis = isOnRedis ? await startRedis() : undefined
    if (redis !== undefined) stops.push(() => redis.stop())
    const chains = await startChains(options, folder, stops)
    const { anvil, deployment, lotus } = chains

    const choosePlural = (): boolean => {
      const chosen = random.chance(0.6)
      return endpoints === undefined ? chosen : endpoints === 2
    }
    const isPlural = { evm: choosePlural(), filecoin: choosePlural() }
    const proxies: FaultProxy[] = []
    const weathers: Weather[] = []
    const before = async (target: string, catalogue: FaultKinds, isFirst: boolean): Promise<FaultProxy> => {
      const proxy = await startFaultProxy(target)
      stops.push(() => proxy.stop())
      const kinds = isFirst ? catalogue : transportFaults
      proxies.push(proxy)
      weathers.push(bringWeather(proxy, kinds, { seed: `${seed}/${weathers.length}`, severity: SEVERITY }))
      return proxy
    }
    const evmKinds = survivable(evmFaults, { witness: isPlural.evm, slow: true })
    const lotusKinds = survivable(lotusFaults, { witness: isPlural.filecoin, slow: true })
    const evm = [await before(anvil.url, evmKinds, true)]
    if (isPlural.evm) evm.push(await before(anvil.url, evmKinds, false))
    const filecoin = [await before(lotus.url, lotusKinds, true)]
    if (isPlural.filecoin) filecoin.push(await before(lotus.url, lotusKinds, false))
    const hasSocket = random.chance(0.5)
    const pollIntervalMs = options.pollIntervalMs ?? createRandom(`${seed}/pace`).pick(POLL_INTERVALS_MS)
    const networksFile = join(folder, 'networks.json')
    await writeFile(
      networksFile,
      JSON.stringify({
        evm: [
          {
            ...{ blockchain: 'DEVNET', networkId: '31337', pollIntervalMs },
            rpcUrls: evm.map(({ url }) => url),
            wsUrl: hasSocket ? (evm[0]?.wsUrl ?? null) : null,
            maxBlockRange: random.pick([20, 200, 2000]),
            erc20Loans: { address: deployment.erc20Loans },
            erc20CollateralLock: { address: deployment.erc20CollateralLock },
          },
        ],
        filecoin: [{ networkId: 'testnet', pollIntervalMs, rpcUrls: filecoin.map(({ url }) => url) }],
      }),
    )

    const environment = {
      ...plainEnvironment(),
      ...{ DATABASE_URL: database.url, REDIS_URL: redis?.url ?? '', NETWORKS_FILE: networksFile },
      ...{ LOG_LEVEL: 'info', DATA_DIR: folder },
    }
    const programs: ServiceProcess[] = []
    for (const name of ['first indexer', 'second indexer']) {
      const port = await freePort()
      programs.push(
        new ServiceProcess({
          ...{ name, kind: 'indexer', program: 'indexer/main', isBuilt, port },
          environment: { ...environment, INDEXER_PORT: String(port) },
          clock: createWallClock(folder, name.replace(' ', '-')),
        }),
      )
    }
    const apiPort = await freePort()
    const api = new ServiceProcess({
      ...{ name: 'api', kind: 'API', program: 'api/main', isBuilt, port: apiPort },
      environment: { ...environment, API_PORT: String(apiPort) },
      clock: createWallClock(folder, 'api'),
    })
    stops.push(() => Promise.all([...programs, api].map((program) => program.stop())))
    const setUp = [
      `queue on ${redis === undefined ? 'Postgres' : 'Redis'}`,
      `${evm.length} EVM and ${filecoin.length} Filecoin endpoints`,
      `EVM heads ${hasSocket ? 'by WebSocket' : 'polled'}, looks every ${pollIntervalMs} ms`,
    ].join(', ')
    return {
      ...{ seed, setUp, folder, ...chains, database, db, redis, proxies, weathers },
      ...{ indexers: programs, api, apiUrl: `http://127.0.0.1:${apiPort}`, stop },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startChains(
  { seed, historyBlocks }: StageOptions,
  folder: string,
  stops: (() => Promise<unknown>)[],
) {
  const anvil = await startAnvil(historyBlocks === undefined ? {} : { historyBlocks })
  stops.push(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY, seed },
    nullRoundChance: 0.1,
  })
  stops.push(() => lotus.stop())
  const outbox = voucherOutbox(join(folder, 'vouchers.jsonl'), 'testnet')
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed },
    filecoin: {
      ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: CONFIDENCE },
      handIn: (voucher) => outbox.put(voucher),
    },
  })
  return { anvil, deployment, lotus, outbox, player }
}

/** tap's own loaders and settings are for test processes only. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TAP|_TAPJS|NODE_OPTIONS)/.test(name)),
  )
}
