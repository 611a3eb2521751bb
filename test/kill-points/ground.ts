import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import type { JobQueue } from '../../indexer/queue/backend.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import { openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { connect, type Db } from '../../shared/db/connect.ts'
import { startServices, type Services } from '../helpers/services.ts'
import { freePort } from '../helpers/free-port.ts'
import { playChains, type Chains } from './chains.ts'
import { compile, type Compiled } from './compile.ts'
import { switchableLink } from './switchable-link.ts'

export type QueueKind = 'postgres' | 'redis'

/** The parts that all cases share: chains, servers, and the program as production runs it. */
export interface Ground {
  chains: Chains
  compiled: Compiled
  services: Services
  /** A migrated database with the queue's schema. */
  template: string
  stop(): Promise<void>
}

export async function prepareGround(seed: string, given: Services | null): Promise<Ground> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one().catch(() => undefined)
  }
  try {
    const own = given === null ? await startServices(['postgres', 'redis']) : null
    if (own !== null) stops.push(() => own.stop())
    const services = given ?? own
    if (services === null) throw new Error('no services')
    const [chains, compiled] = await Promise.all([playChains(seed), compile()])
    stops.push(
      () => chains.stop(),
      () => compiled.remove(),
    )
    const template = `kill_points_template_${process.pid}`
    await asAdmin(services, (admin) =>
      sql`create database ${sql.id(template)} template ${sql.id(services.template)}`.execute(admin),
    )
    stops.push(() =>
      asAdmin(services, (admin) => sql`drop database ${sql.id(template)} with (force)`.execute(admin)),
    )
    await withQueues({ databaseUrl: `${services.postgresUrl}/${template}`, redisUrl: undefined }, (queues) =>
      Promise.all(queues.map((queue) => queue.getJobCounts('waiting'))),
    )
    return { chains, compiled, services, template, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

export interface QueueUrls {
  databaseUrl: string
  redisUrl: string | undefined
}

/** Opens the service's queues: one per network, then that of the vouchers. */
export async function withQueues<T>(
  urls: QueueUrls,
  work: (queues: [JobQueue, JobQueue, JobQueue]) => Promise<T>,
): Promise<T> {
  const backend = openQueueBackend(urls, () => undefined)
  const queues: [JobQueue, JobQueue, JobQueue] = [
    backend.openQueue(stepQueueName('evm:31337')),
    backend.openQueue(stepQueueName('filecoin:testnet')),
    openVoucherQueue(backend),
  ]
  try {
    return await work(queues)
  } finally {
    await Promise.all(queues.map((queue) => queue.close()))
    backend.close()
  }
}

/** The examiner's name in the database. */
export const EXAMINER = 'kill points'

/** One case's own database, queue and links to the nodes. */
export interface Place {
  db: Db
  urls: QueueUrls
  environment: NodeJS.ProcessEnv
  folder: string
  /** Puts the nodes of another stage behind the indexer's addresses. */
  showStage(index: 0 | 1 | 2): void
  leave(): Promise<void>
}

let places = 0

export async function openPlace(ground: Ground, queue: QueueKind): Promise<Place> {
  const { chains, services } = ground
  places += 1
  // Fixed before the await, because another lane opens a place meanwhile.
  const place = places
  const database = `kill_points_${process.pid}_${place}`
  await asAdmin(services, (admin) =>
    sql`create database ${sql.id(database)} template ${sql.id(ground.template)}`.execute(admin),
  )
  const databaseUrl = `${services.postgresUrl}/${database}`
  const db = connect(databaseUrl, { name: EXAMINER, max: 2 })
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-kill-point-'))
  const [first, , last] = chains.stages
  const evm = await switchableLink(first.evmUrl)
  // A node's voucher store is its own and no part of the chain.
  const lotus = await switchableLink(first.lotusUrl, {
    to: last.lotusUrl,
    pinned: (body) => body.includes('Paych'),
  })
  const networksFile = join(folder, 'networks.json')
  await writeFile(networksFile, JSON.stringify(networksOf(chains, evm.url, lotus.url)))
  // A database number of its own, chosen like in test/helpers/redis.ts.
  const number = (process.pid * 16 + place) % 512
  const redisUrl = queue === 'redis' ? `${services.redisUrl ?? ''}/${number}` : undefined
  return {
    ...{ db, folder, urls: { databaseUrl, redisUrl } },
    environment: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'] },
      ...{ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl ?? '', NETWORKS_FILE: networksFile },
      ...{ INDEXER_PORT: String(await freePort()), LOG_LEVEL: 'info', DATA_DIR: folder },
    },
    showStage(index) {
      evm.switchTo(chains.stages[index].evmUrl)
      lotus.switchTo(chains.stages[index].lotusUrl)
    },
    async leave() {
      evm.stop()
      lotus.stop()
      if (redisUrl !== undefined) await flush(redisUrl)
      await db.destroy()
      await asAdmin(services, (admin) => sql`drop database ${sql.id(database)} with (force)`.execute(admin))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function flush(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl)
  await redis.flushdb()
  redis.disconnect()
}

function networksOf({ deployment }: Chains, evmUrl: string, lotusUrl: string): object {
  return {
    evm: [
      {
        ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [evmUrl], pollIntervalMs: 50 },
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
    filecoin: [{ networkId: 'testnet', rpcUrls: [lotusUrl], pollIntervalMs: 50 }],
  }
}

async function asAdmin<T>(services: Services, work: (admin: Db) => Promise<T>): Promise<T> {
  const admin = connect(`${services.postgresUrl}/postgres`, { name: EXAMINER, max: 1 })
  try {
    return await work(admin)
  } finally {
    await admin.destroy()
  }
}
