import type { Test } from 'tap'
import {
  startLotus,
  type DevChain,
  type Lotus,
  type LotusOptions,
  type Wallet,
} from '../../../devnet/filecoin/lotus.ts'
import { createChannel, createdChannel } from '../../../devnet/filecoin/channel-actions.ts'
import { FIL } from '../../../devnet/filecoin/chain/genesis.ts'
import type { KeyKind } from '../../../devnet/filecoin/keys.ts'

export const GENESIS_TIME_S = 1_700_000_000

/** A node that mines only when it is told to, gone at the end of the test. */
export async function openLotus(t: Test, options: LotusOptions = {}): Promise<Lotus> {
  const lotus = await startLotus({
    tickMs: null,
    seed: t.name,
    genesisTimeS: GENESIS_TIME_S,
    settleDelayEpochs: 5,
    ...options,
  })
  t.teardown(() => lotus.stop())
  return lotus
}

/** Accounts with 100 FIL each; their IDs are in the order of the names if one is mined after the other. */
export async function fundedWallets(
  chain: DevChain,
  names: readonly string[],
  kind: KeyKind = 'secp256k1',
): Promise<Wallet[]> {
  const wallets: Wallet[] = []
  for (const name of names) {
    const wallet = await chain.createWallet(kind, name)
    await chain.fund(wallet.address, 100n * FIL)
    wallets.push(wallet)
  }
  await chain.mine(2)
  return wallets
}

/** A channel from the first to the second, made by the first. */
export async function openChannel(
  chain: DevChain,
  from: Wallet,
  to: Wallet,
  amount: bigint,
): Promise<{ robust: string; id: string; cid: string }> {
  const cid = await createChannel(from, from.key, to.key, amount)
  await chain.mine(2)
  return { ...createdChannel(await chain.waitFor(cid), chain.letter), cid }
}

/** Mines until all of them are executed; their exit codes. */
export async function exitCodes(chain: DevChain, ...sent: Promise<string>[]): Promise<number[]> {
  const cids = await Promise.all(sent)
  await chain.mine(2)
  return Promise.all(cids.map(async (cid) => (await chain.waitFor(cid)).receipt.exitCode))
}
