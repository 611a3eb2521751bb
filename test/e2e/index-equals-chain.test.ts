import { JsonRpcProvider } from 'ethers'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import type { Db } from '../../shared/db/connect.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { indexerProcess, untilSynced, type IndexerProcess } from '../helpers/indexer-process.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { seededRandom } from '../helpers/random-chain.ts'
import { testRedis } from '../helpers/redis.ts'
import { recordRows } from '../helpers/log-views.ts'

t.setTimeout(1_600_000)

const KINDS = 13
/** Its hostile player once gave a secret of zero bytes, which was taken for none. */
const SEED = Number(process.env['SEED'] ?? 939_604)
const KILLS = 20
/** Anvil has the state of its newest 1,000 blocks: a chain that runs further ahead takes with it what loans looked like. */
const MOST_BLOCKS_AHEAD = 500

type Test = Parameters<typeof testDatabase>[0]

async function scene(t: Test, kind: QueueKind) {
  const { url: databaseUrl, db } = await testDatabase(t)
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (redisUrl === null) return undefined
  const anvil = await startAnvil({ port: 0 })
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: SEED })
  const networks = {
    evm: [
      {
        blockchain: 'DEVNET',
        networkId: '31337',
        rpcUrls: [anvil.url],
        pollIntervalMs: 50,
        maxBlockRange: 50,
        erc20Loans: { address: deployment.erc20Loans },
        erc20CollateralLock: { address: deployment.erc20CollateralLock },
      },
    ],
  }
  const indexer = await indexerProcess(t, { databaseUrl, redisUrl: redisUrl ?? null, networks })
  const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true, cacheTimeout: -1 })
  t.teardown(() => provider.destroy())
  const check = async (t: Test, what: string): Promise<void> => {
    await untilSynced(db, anvil.url, indexer)
    const { differences, ...counts } = await compareWithChain(db, anvil.url, deployment)
    t.same(differences, [], `${what}: ${JSON.stringify(counts)}`)
  }
  return { db, redisUrl: redisUrl ?? null, provider, player, indexer, check }
}

/** Throws reorgs of every depth from 1 to 30 at the chain, in a random order, while loans are played. */
async function reorgs(
  provider: JsonRpcProvider,
  random: ReturnType<typeof seededRandom>,
  playing: () => Promise<unknown>,
): Promise<void> {
  // A chain that is high enough, so that no reorg reaches a final block.
  await provider.send('anvil_mine', ['0x64'])
  const depths = Array.from({ length: 30 }, (_, index) => index + 1)
  while (depths.length > 0) {
    const [depth = 1] = depths.splice(random.below(depths.length), 1)
    await playing()
    if (random.chance(0.7)) await delay(random.below(200))
    await provider.send('anvil_reorg', [depth, await keptTransactions(provider, depth, random)])
    if (random.chance(0.5)) await delay(random.below(150))
  }
}

/** The first of the old branch's transactions (a sender's nonces leave no gap), each with the new block it goes to. */
async function keptTransactions(
  provider: JsonRpcProvider,
  depth: number,
  random: ReturnType<typeof seededRandom>,
): Promise<[string, number][]> {
  const head = await provider.getBlockNumber()
  const hashes: string[] = []
  for (let number = head - depth + 1; number <= head; number += 1) {
    hashes.push(...((await provider.getBlock(number))?.transactions ?? []))
  }
  const kept: [string, number][] = []
  let block = 0
  for (const hash of hashes.slice(0, random.below(hashes.length + 1))) {
    block = Math.min(depth - 1, block + random.below(2))
    kept.push([(await provider.send('eth_getRawTransactionByHash', [hash])) as string, block])
  }
  return kept
}

interface Played {
  db: Db
  provider: JsonRpcProvider
  player: Player
}

async function playUntil({ db, provider, player }: Played, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const ahead = (await provider.getBlockNumber()) - (await positionOf(db))
    if (ahead < MOST_BLOCKS_AHEAD) await player.playLoans(1)
    else await delay(50)
  }
}

/** Most lives end while the indexer writes, some before it wrote anything. Answers whether the position moved. */
async function killAndRestart(
  { db, indexer }: { db: Db; indexer: IndexerProcess },
  random: ReturnType<typeof seededRandom>,
): Promise<boolean> {
  const before = await positionOf(db)
  const moved = async (): Promise<boolean> => (await positionOf(db)) !== before
  if (random.chance(0.2)) await delay(random.below(1500))
  else for (let waitedMs = 0; waitedMs < 20_000 && !(await moved()); waitedMs += 10) await delay(10)
  await delay(random.below(200))
  await indexer.kill()
  indexer.start()
  return moved()
}

async function positionOf(db: Db): Promise<number> {
  const { number } = await db.selectFrom('ledger.chain_position').select('number').executeTakeFirstOrThrow()
  return number ?? 0
}

/** Empties Redis while loans are played. */
async function loseQueue(redisUrl: string, played: Played): Promise<void> {
  const redis = new Redis(redisUrl)
  const lost = new AbortController()
  const load = playUntil(played, lost.signal)
  for (let time = 0; time < 50; time += 1) {
    await delay(50)
    await redis.flushdb()
  }
  lost.abort()
  await load
  redis.disconnect()
}

for (const kind of queueKinds) {
  void t.test(`queue on ${kind}, seed ${SEED}`, { timeout: 780_000 }, async (t) => {
    const opened = await scene(t, kind)
    if (opened === undefined) return
    const { db, redisUrl, provider, player, indexer, check } = opened
    const random = seededRandom(SEED)
    await player.playLoans(40)
    indexer.start()
    await check(t, 'after backfill')
    const events = new Set((await recordRows(db)).map(({ event }) => event))
    t.equal(events.size, KINDS, 'all kinds of events were played')

    await reorgs(provider, random, () => player.playLoans(1))
    await check(t, 'after reorgs of depths 1 to 30 under load')
    const ops = await db.selectFrom('ledger.event_log').select('op').distinct().orderBy('op').execute()
    t.same(
      ops.map(({ op }) => op),
      ['append', 'replace', 'retract'],
      'some events moved to another branch, some were lost',
    )

    const killed = new AbortController()
    const load = playUntil(opened, killed.signal)
    let wrote = 0
    for (let kill = 0; kill < KILLS; kill += 1) if (await killAndRestart(opened, random)) wrote += 1
    killed.abort()
    await load
    t.ok(wrote >= KILLS / 2, `${wrote} of ${KILLS} lives wrote something before they were killed`)
    await check(t, `after ${KILLS} kills`)
    if (redisUrl !== null) {
      await loseQueue(redisUrl, opened)
      await check(t, 'after Redis lost all its data, again and again')
    }
    const digest = await digestReadModel(db)
    await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
    t.same(await digestReadModel(db), digest, 'replay gives the same digest')
    t.equal(await indexer.stop(), 0, 'stops cleanly')
  })
}
