import { networkKey, type EvmNetwork, type Networks } from '../shared/config/networks.ts'
import type { ChainSource } from './sources/chain-source.ts'
import { createEvmSource, type EvmSource } from './sources/evm/evm-source.ts'

/** A configured network with the source that reads it. */
export interface WatchedNetwork {
  network: string
  blockchain: string
  networkId: string
  /** What decides what the index holds; other contracts make another index. */
  watched: unknown
  source: EvmSource & ChainSource
}

/** Opens a source for each configured network; nothing is asked yet. `report` hears what endpoints do wrong. */
export function openNetworks(
  networks: Networks,
  report: (network: string, message: string) => void,
): WatchedNetwork[] {
  return networks.evm.map((network) => ({
    network: networkKey(network),
    blockchain: network.blockchain,
    networkId: network.networkId,
    watched: watchedOf(network),
    source: createEvmSource(network, { report: (_level, message) => report(networkKey(network), message) }),
  }))
}

function watchedOf(network: EvmNetwork): unknown {
  const deployments = (['erc20Loans', 'erc20CollateralLock'] as const).flatMap((role) => {
    const deployment = network[role]
    if (deployment === undefined) return []
    const { address, startBlock, idPrefix } = deployment
    return [[role, { address: address.toLowerCase(), startBlock, idPrefix }] as const]
  })
  return Object.fromEntries(deployments)
}
