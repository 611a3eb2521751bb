import { JsonRpcProvider } from 'ethers'
import { Redis } from 'ioredis'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { startLotus, type Lotus } from '../../devnet/filecoin/lotus.ts'
import { voucherOutbox } from '../../devnet/loans/voucher-outbox.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import type { Db } from '../../shared/db/connect.ts'
import { testApi, type TestApi } from '../helpers/api.ts'
import { compareChannels, type Stage } from '../helpers/compare-channels.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { indexerProcess, type IndexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds, type QueueKind } from '../helpers/queue-kinds.ts'
import { seededRandom } from '../helpers/random-chain.ts'
import { testRedis } from '../helpers/redis.ts'
import { withoutStranded } from '../helpers/stranded-channels.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'

/**
 * Whole loans across both chains. After each hardship the index must say what the contracts, the node's channel states
 * and the player's diary say. `npm test` plays fewer loans, reorgs and kills.
 */

// A busy machine with other tests beside it takes three times as long as an idle one.
t.setTimeout(1_500_000)

const IS_ALL = process.env['TEST_ALL'] === 'true'
const LOANS = Number(process.env['LOANS'] ?? (IS_ALL ? 100 : 20))
/** Each depth from 1 to this one, in a random order. */
const EVM_REORGS = IS_ALL ? 30 : 6
const KILLS = IS_ALL ? 10 : 2
/** Kinds of events that the contracts emit. */
const EVM_KINDS = 13
const SETTLE_DELAY = 5
const EPOCH_S = 2
/** Agreements name channels by IDs that must not change any more: no reorg of Filecoin is deeper. */
const CONFIDENCE = 12
const DEEPEST_FILECOIN = 10
/** Anvil has the state of its newest 1,000 blocks: a chain that runs further ahead takes with it what loans looked like. */
const MOST_BLOCKS_AHEAD = 500
const SEED = Number(process.env['SEED'] ?? 20_261_121)

async function playground(t: Test) {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY },
    seed: String(SEED),
  })
  t.teardown(() => lotus.stop())
  const outbox = voucherOutbox(join(t.testdir(), 'vouchers.jsonl'), 'testnet')
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed: SEED },
    filecoin: {
      ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: CONFIDENCE },
      trafficPerTipset: 1,
      handIn: (voucher) => outbox.put(voucher),
    },
  })
  const evmLink = await untrustyLink(t, anvil.url)
  const lotusLink = await untrustyLink(t, lotus.url)
  const evm = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [evmLink.url], pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  const filecoin = { networkId: 'testnet', rpcUrls: [lotusLink.url], pollIntervalMs: 50 }
  const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true, cacheTimeout: -1 })
  t.teardown(() => provider.destroy())
  return { anvil, deployment, lotus, player, outbox, provider, evmLink, lotusLink, evm, filecoin }
}

type Playground = Awaited<ReturnType<typeof playground>>

interface Index {
  api: TestApi
  indexer: IndexerProcess
  check: (t: Test, what: string) => Promise<void>
}

async function index(t: Test, ground: Playground, redisUrl: string | undefined): Promise<Index> {
  const { anvil, deployment, lotus, player, evm, filecoin } = ground
  const api = await testApi(t)
  const networks = { evm: [evm], filecoin: [filecoin] }
  const indexer = await indexerProcess(t, { databaseUrl: api.url, redisUrl: redisUrl ?? null, networks })
  const forwarding = new AbortController()
  const urls = { databaseUrl: api.url, redisUrl }
  const forwarded = ground.outbox.forward(
    urls,
    join(t.testdirName, `sent-${api.url.split('/').at(-1) ?? ''}`),
    forwarding.signal,
  )
  t.teardown(async () => {
    forwarding.abort()
    await forwarded
  })
  const stage: Stage = {
    ...{ db: api.db, app: api.app, rpcUrl: anvil.url, deployment, lotus, player },
    settleDelayEpochs: SETTLE_DELAY,
  }
  const check = async (t: Test, what: string): Promise<void> => {
    await untilBothSynced(api.db, { evmUrl: anvil.url, lotusUrl: lotus.url }, indexer)
    const { differences, ...contracts } = await compareWithChain(api.db, anvil.url, deployment)
    t.same(differences, [], `${what}: contracts ${JSON.stringify(contracts)}`)
    // The node's own vouchers are read at the start, and then only every 30 seconds.
    await indexer.stop()
    indexer.start()
    const compare = async (): Promise<{ differences: string[]; counts: string }> => {
      const { differences, ...counts } = await compareChannels(stage)
      return { differences: await withoutStranded(stage, differences), counts: JSON.stringify(counts) }
    }
    let channels = await compare()
    // However long a busy machine takes for the vouchers that are still on their way: it goes on as long as they come.
    let changedAt = Date.now()
    while (channels.differences.length > 0 && Date.now() < changedAt + 45_000) {
      await delay(1500)
      const now = await compare()
      if (now.differences.join() !== channels.differences.join()) changedAt = Date.now()
      channels = now
    }
    t.same(channels.differences, [], `${what}: channels ${channels.counts}`)
  }
  return { api, indexer, check }
}

/** Reorgs of both chains while loans are played. */
async function throwReorgs(
  { provider, lotus, player }: Playground,
  random: ReturnType<typeof seededRandom>,
  db: Db,
): Promise<void> {
  // A chain that is high enough, so that no reorg reaches a final block.
  await provider.send('anvil_mine', ['0x64'])
  const depths = Array.from({ length: EVM_REORGS }, (_, index) => index + 1)
  const between = async (): Promise<void> => {
    if (random.chance(0.85)) return
    if (random.chance(0.3)) await delay(random.below(200))
    if (random.chance(0.6)) reorgFilecoin(lotus, random)
    if (random.chance(0.4)) return
    const [depth] = depths.splice(random.below(depths.length), 1)
    if (depth === undefined) return
    // A reorg of blocks that were never read is none to the indexer.
    const head = await provider.getBlockNumber()
    await eventually('the last block is indexed', async () => (await indexedBlock(db)) >= head)
    await provider.send('anvil_reorg', [depth, await keptTransactions(provider, depth, random)])
  }
  while (depths.length > 0) await player.playLoans(8, { between })
}

async function indexedBlock(db: Db): Promise<number> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .select('number')
    .where('network', '=', 'evm:31337')
    .executeTakeFirst()
  return row?.number ?? -1
}

function reorgFilecoin({ chain }: Lotus, random: ReturnType<typeof seededRandom>): void {
  chain.reorg(1 + random.below(DEEPEST_FILECOIN), {
    reorder: random.chance(0.5),
    drop: random.below(50) / 100,
    fail: random.chance(0.3) ? 0.1 : 0,
  })
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

async function playUntil(ground: Playground, main: Index, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const ahead = (await ground.provider.getBlockNumber()) - (await positionOf(main))
    if (ahead < MOST_BLOCKS_AHEAD) await ground.player.playLoans(1)
    else await delay(50)
  }
}

/** Does something to the indexer while loans are played. */
async function underLoad(ground: Playground, main: Index, work: () => Promise<void>): Promise<void> {
  const done = new AbortController()
  const load = playUntil(ground, main, done.signal)
  await work().finally(() => done.abort())
  await load
}

/** Most lives end while the indexer writes, some before it wrote anything. Answers whether the position moved. */
async function killAndRestart(main: Index, random: ReturnType<typeof seededRandom>): Promise<boolean> {
  const before = await positionOf(main)
  const moved = async (): Promise<boolean> => (await positionOf(main)) !== before
  if (random.chance(0.2)) await delay(random.below(1500))
  else for (let waitedMs = 0; waitedMs < 20_000 && !(await moved()); waitedMs += 10) await delay(10)
  await delay(random.below(200))
  await main.indexer.kill()
  main.indexer.start()
  return moved()
}

async function positionOf({ api: { db } }: Index): Promise<number> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .select('number')
    .where('network', '=', 'evm:31337')
    .executeTakeFirst()
  return row?.number ?? 0
}

/** Empties Redis again and again. */
async function loseQueue(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl)
  for (let time = 0; time < 50; time += 1) {
    await delay(50)
    await redis.flushdb()
  }
  redis.disconnect()
}

/** Cuts the way to one node, then to the other, while loans are played. */
async function cutLinks(t: Test, { lotusLink, evmLink, player }: Playground, main: Index): Promise<void> {
  for (const [link, what] of [
    [lotusLink, 'Filecoin'],
    [evmLink, 'the EVM chain'],
  ] as const) {
    await link.cut()
    await player.playLoans(10)
    await delay(1000)
    await link.mend()
    await main.check(t, `after ${what} was out of reach for ten loans`)
  }
}

/** Reads one chain from its beginning to its end before the other is known at all. */
async function readOneAfterTheOther(t: Test, ground: Playground): Promise<void> {
  for (const [first, what] of [
    [ground.evmLink, 'Filecoin'],
    [ground.lotusLink, 'the EVM chain'],
  ] as const) {
    await first.cut()
    const late = await index(t, ground, undefined)
    late.indexer.start()
    await delay(4000)
    await first.mend()
    await late.check(t, `${what} first`)
    t.equal(await late.indexer.stop(), 0)
  }
}

async function endure(t: Test, kind: QueueKind): Promise<void> {
  const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
  if (redisUrl === null) return
  const ground = await playground(t)
  const random = seededRandom(SEED)
  const main = await index(t, ground, redisUrl)
  const { api, indexer, check } = main
  const began = performance.now()
  const tell = (what: string): void =>
    t.comment(`${((performance.now() - began) / 1000).toFixed(0)} s: ${what}`)

  await ground.player.playLoans(LOANS)
  indexer.start()
  await check(t, 'after backfill')
  const logged = (column: 'kind' | 'op') =>
    api.db
      .selectFrom('ledger.event_log')
      .select(column)
      .distinct()
      .where('network', '=', 'evm:31337')
      .execute()
  t.equal((await logged('kind')).length, EVM_KINDS, 'all kinds of events were played')
  tell('backfill')

  await throwReorgs(ground, random, api.db)
  await check(t, 'after reorgs of both chains')
  const ops = (await logged('op')).map(({ op }) => op).sort()
  t.same(ops, ['append', 'replace', 'retract'], 'some events moved to another branch, some were lost')
  tell('reorgs')

  let wrote = 0
  await underLoad(ground, main, async () => {
    // At least half of the lives write something before they are killed.
    for (let kill = 0; kill < KILLS || wrote < KILLS / 2; kill += 1)
      if (await killAndRestart(main, random)) wrote += 1
  })
  await check(t, `after ${KILLS} kills`)
  tell('kills')

  if (redisUrl !== undefined) {
    await underLoad(ground, main, () => loseQueue(redisUrl))
    await check(t, 'after Redis lost all its data, again and again')
    tell('Redis lost')
  } else if (IS_ALL) {
    await cutLinks(t, ground, main)
    tell('links cut')
  }

  // Vouchers of channels that no loan has any more may still be on their way.
  t.equal(await indexer.stop(), 0, 'stops cleanly')
  const digest = await digestReadModel(api.db)
  await replay(api.db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  t.same(await digestReadModel(api.db), digest, 'replay gives the same digest')
  if (IS_ALL && redisUrl === undefined) {
    await readOneAfterTheOther(t, ground)
    tell('one chain after the other')
  }
}

for (const kind of queueKinds) {
  void t.test(`${LOANS} whole loans, queue on ${kind}, seed ${SEED}`, { timeout: 1_490_000 }, (t) =>
    endure(t, kind),
  )
}
