import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import { anything, createRpc, hex, type Rpc } from '../../devnet/evm/rpc.ts'
import { startLotus, type Lotus } from '../../devnet/filecoin/lotus.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'
import { voucherOutbox } from '../../devnet/loans/voucher-outbox.ts'
import { replay } from '../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../indexer/projections/digest.store.ts'
import * as z from 'zod'
import { testApi, type TestApi } from '../helpers/api.ts'
import { compareChannels, type Stage } from '../helpers/compare-channels.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { indexerProcess, type IndexerProcess } from '../helpers/indexer-process.ts'
import { seededRandom } from '../helpers/random-chain.ts'
import { withoutStranded } from '../helpers/stranded-channels.ts'
import { untrustyLink } from '../helpers/untrusty-link.ts'

/**
 * Whole loans across both chains. After each hardship the index must say what the contracts, the node's channel states
 * and the player's diary say.
 */

// A busy machine with other tests beside it takes three times as long as an idle one.
t.setTimeout(1_500_000)

const LOANS = Number(process.env['LOANS'] ?? 200)
const SETTLE_DELAY = 5
const EPOCH_S = 2
/** Agreements name channels by IDs that must not change any more: no reorg of the test is deeper. */
const CONFIDENCE = 12
const DEEPEST = 10
const REORGS = 30
const KILLS = 6
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
  return { anvil, deployment, lotus, player, outbox, evmLink, lotusLink, evm, filecoin }
}

type Playground = Awaited<ReturnType<typeof playground>>

interface Index {
  api: TestApi
  indexer: IndexerProcess
  check: (t: Test, what: string) => Promise<void>
}

async function index(t: Test, ground: Playground): Promise<Index> {
  const { anvil, deployment, lotus, player, evm, filecoin } = ground
  const api = await testApi(t)
  const networks = { evm: [evm], filecoin: [filecoin] }
  const indexer = await indexerProcess(t, { databaseUrl: api.url, networks })
  const forwarding = new AbortController()
  const urls = { databaseUrl: api.url, redisUrl: undefined }
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
    await untilSynced(stage, createRpc(anvil.url), indexer)
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

/** Both networks at what their nodes have: a tipset counts once its child has its receipts. */
async function untilSynced({ db, lotus }: Stage, rpc: Rpc, indexer: IndexerProcess): Promise<void> {
  const until = performance.now() + 90_000
  for (;;) {
    const block = await rpc.call(z.object({ hash: hex }), 'eth_getBlockByNumber', 'latest', false)
    const head = await createLotusRpc(lotus.url).call(tipsetSchema, 'ChainHead')
    const wanted: Record<string, string> = {
      'evm:31337': block.hash,
      'filecoin:testnet': head.Blocks[0]?.Parents.join() ?? '',
    }
    const positions = await db.selectFrom('ledger.chain_position').select(['network', 'hash']).execute()
    const isThere = (network: string): boolean =>
      positions.some((position) => position.network === network && position.hash === wanted[network])
    if (Object.keys(wanted).every(isThere)) return
    if (performance.now() > until)
      throw new Error(`not synced: ${JSON.stringify(positions)} ${JSON.stringify(wanted)}\n${indexer.output}`)
    await delay(100)
  }
}

async function throwReorgs(
  { anvil, lotus }: { anvil: { url: string }; lotus: Lotus },
  random: ReturnType<typeof seededRandom>,
  player: Player,
): Promise<void> {
  const rpc = createRpc(anvil.url)
  // So high that no reorg reaches a final block.
  await rpc.call(anything, 'anvil_mine', '0x64')
  let reorgs = 0
  const between = async (): Promise<void> => {
    if (random.chance(0.85)) return
    reorgs += 1
    if (random.chance(0.3)) await delay(random.below(200))
    if (random.chance(0.6)) reorgFilecoin(lotus, random)
    if (random.chance(0.6)) await rpc.call(anything, 'anvil_reorg', 1 + random.below(DEEPEST), [])
  }
  while (reorgs < REORGS) await player.playLoans(8, { between })
}

function reorgFilecoin({ chain }: Lotus, random: ReturnType<typeof seededRandom>): void {
  chain.reorg(1 + random.below(DEEPEST), {
    reorder: random.chance(0.5),
    drop: random.below(50) / 100,
    fail: random.chance(0.3) ? 0.1 : 0,
  })
}

void t.test(`${LOANS} whole loans, seed ${SEED}`, { timeout: 1_490_000 }, async (t) => {
  const ground = await playground(t)
  const { player, lotusLink, evmLink } = ground
  const random = seededRandom(SEED)
  const main = await index(t, ground)
  const { indexer, check } = main
  const began = performance.now()
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(0)
  const tell = (what: string): void => t.comment(`${seconds()} s: ${what}`)

  await player.playLoans(LOANS)
  tell('played')
  indexer.start()
  await check(t, 'after backfill')
  tell('compared')

  await throwReorgs(ground, random, player)
  await check(t, 'after reorgs of both chains')
  tell('reorgs')

  const playing = player.playLoans(20)
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(300 + random.below(1200))
    await indexer.kill()
    indexer.start()
  }
  await playing
  await check(t, `after ${KILLS} kills`)
  tell('kills')

  for (const [link, what] of [
    [lotusLink, 'Filecoin'],
    [evmLink, 'the EVM chain'],
  ] as const) {
    await link.cut()
    await player.playLoans(10)
    await delay(1000)
    await link.mend()
    await check(t, `after ${what} was out of reach for ten loans`)
    tell(`${what} delayed`)
  }

  const digest = await digestReadModel(main.api.db)
  await replay(main.api.db, {
    restart: true,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
  t.same(await digestReadModel(main.api.db), digest, 'replay gives the same digest')
  t.equal(await indexer.stop(), 0, 'stops cleanly')

  for (const [first, what] of [
    [evmLink, 'Filecoin'],
    [lotusLink, 'the EVM chain'],
  ] as const) {
    // One chain is read from its beginning to its end before the other is known at all.
    await first.cut()
    const late = await index(t, ground)
    late.indexer.start()
    await delay(4000)
    await first.mend()
    tell(`${what} first`)
    await late.check(t, `${what} first`)
    t.equal(await late.indexer.stop(), 0)
  }
})
