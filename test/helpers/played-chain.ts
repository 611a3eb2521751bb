import type { Test } from 'tap'
import { startAnvil, type Anvil } from '../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../devnet/evm/deploy.ts'
import { createPlayer, type Player } from '../../devnet/evm/player.ts'
import { anything, createRpc } from '../../devnet/evm/rpc.ts'

export interface PlayedChain {
  anvil: Anvil
  deployment: Deployment
  player: Player
  /** The chain's entry in a networks file. */
  network: {
    blockchain: string
    networkId: string
    rpcUrls: string[]
    pollIntervalMs: number
    erc20Loans: { address: string }
    erc20CollateralLock: { address: string }
  }
}

/** Starts an EVM chain with the contracts, on which a player can play loans; stopped in teardown. */
export async function playedChain(t: Test, seed: number): Promise<PlayedChain> {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const player = createPlayer({ rpcUrl: anvil.url, deployment, seed })
  const network = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  return { anvil, deployment, player, network }
}

/** Blocks are an hour away from the clock from now on: an index whose head is not known is then not fresh. */
export async function leaveTheClock({ url }: Anvil): Promise<void> {
  await createRpc(url).call(anything, 'evm_increaseTime', 3_600)
}
