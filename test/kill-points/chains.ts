import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { startAnvil, type Anvil } from '../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import { anything, createRpc, hex } from '../../devnet/evm/rpc.ts'
import { startLotus, type Lotus, type LotusOptions } from '../../devnet/filecoin/lotus.ts'
import { createLotusRpc, tipsetSchema } from '../../devnet/loans/lotus-rpc.ts'

/** Both chains at one time, on nodes that stand still. */
export interface Stage {
  evmUrl: string
  lotusUrl: string
  /** The expected positions of an index, by network. */
  heads: Record<string, string>
  /** Vouchers handed in since the stage before; the last is no voucher and is refused. */
  vouchers: string[]
}

/**
 * One history of whole loans in three stages. The second is on other branches than the first, by a reorg of either
 * chain, and the third continues the second.
 */
export interface Chains {
  stages: readonly [Stage, Stage, Stage]
  /** The last stage's node, for comparisons. */
  anvil: Anvil
  lotus: Lotus
  player: Player
  deployment: Deployment
  stop(): Promise<void>
}

export const SETTLE_DELAY = 5
const EPOCH_S = 2
/** Agreements name channels by IDs that must not change afterwards, so no reorg is deeper. */
const CONFIDENCE = 12
const REORG_DEPTH = { evm: 8, filecoin: 8 }
/** Blocks become final on the way, and no reorg reaches them. */
const FINALITY = { slotsInAnEpoch: 6, finalityEpochs: 14 }
const LOANS = [3, 2, 1] as const

/** Plays the history, by its seed, and keeps a node of each stage. */
export async function playChains(seed: string): Promise<Chains> {
  const folder = await mkdtemp(join(tmpdir(), 'loan-activity-kill-points-'))
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one().catch(() => undefined)
  }
  try {
    const paths = { anvil: join(folder, 'live', 'anvil.json'), lotus: join(folder, 'live', 'lotus.jsonl') }
    await mkdir(join(folder, 'live'))
    const anvil = await startAnvil({ ...anvilOptions(paths.anvil), stateIntervalSeconds: 1 })
    stops.push(() => anvil.stop())
    const deployment = await deployContracts(anvil.url)
    const lotus = await startLotus(lotusOptions(seed, paths.lotus))
    stops.push(() => lotus.stop())
    let vouchers: string[] = []
    const player = createPlayer({
      ...{ rpcUrl: anvil.url, deployment, seed, hostility: 0.1 },
      filecoin: {
        ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: CONFIDENCE },
        trafficPerTipset: 1,
        handIn: (voucher) => vouchers.push(voucher),
      },
    })
    const rpc = createRpc(anvil.url)
    await rpc.call(anything, 'anvil_mine', '0x10')

    const keep = async (name: string): Promise<Stage> => {
      const copy = await copyNodes(join(folder, name), paths, seed, stops)
      const stage = {
        ...copy,
        heads: await headsOf(copy.evmUrl, copy.lotusUrl),
        vouchers: [...vouchers, name],
      }
      vouchers = []
      return stage
    }
    await player.playLoans(LOANS[0])
    const first = await keep('first')
    await rpc.call(anything, 'anvil_reorg', REORG_DEPTH.evm, [])
    lotus.chain.reorg(REORG_DEPTH.filecoin, { reorder: true, drop: 0.5, fail: 0.1 })
    await player.playLoans(LOANS[1])
    const second = await keep('second')
    await player.playLoans(LOANS[2])
    const urls = { evmUrl: anvil.url, lotusUrl: lotus.url }
    const third = { ...urls, heads: await headsOf(anvil.url, lotus.url), vouchers: [...vouchers, 'third'] }
    return { stages: [first, second, third], anvil, lotus, player, deployment, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function anvilOptions(statePath: string) {
  return { statePath, slotsInAnEpoch: FINALITY.slotsInAnEpoch }
}

function lotusOptions(seed: string, statePath: string): LotusOptions {
  return {
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY, seed, statePath },
    ...{ nullRoundChance: 0.1, finalityEpochs: FINALITY.finalityEpochs },
  }
}

/** Starts separate nodes with copies of the present chains. */
async function copyNodes(
  folder: string,
  paths: { anvil: string; lotus: string },
  seed: string,
  stops: (() => Promise<unknown>)[],
): Promise<{ evmUrl: string; lotusUrl: string }> {
  await mkdir(folder)
  await untilSaved(paths.anvil)
  const copies = { anvil: join(folder, 'anvil.json'), lotus: join(folder, 'lotus.jsonl') }
  await copyFile(`${paths.anvil}.good`, copies.anvil)
  await copyFile(`${paths.anvil}.genesis`, `${copies.anvil}.genesis`)
  await copyFile(paths.lotus, copies.lotus)
  const anvil = await startAnvil({ ...anvilOptions(copies.anvil), stateIntervalSeconds: 100_000 })
  stops.push(() => anvil.stop())
  const lotus = await startLotus(lotusOptions(seed, copies.lotus))
  stops.push(() => lotus.stop())
  return { evmUrl: anvil.url, lotusUrl: lotus.url }
}

/** Waits until a save that began after this call has finished. */
async function untilSaved(path: string): Promise<void> {
  const now = Date.now()
  for (;;) {
    const saved = statSync(`${path}.good`, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (saved > now + 1100) return
    await sleep(50)
  }
}

async function headsOf(evmUrl: string, lotusUrl: string): Promise<Record<string, string>> {
  const block = await createRpc(evmUrl).call(z.object({ hash: hex }), 'eth_getBlockByNumber', 'latest', false)
  const head = await createLotusRpc(lotusUrl).call(tipsetSchema, 'ChainHead')
  // A tipset counts once its child has its receipts.
  return { 'evm:31337': block.hash, 'filecoin:testnet': head.Blocks[0]?.Parents.join() ?? '' }
}
