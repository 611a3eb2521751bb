import { networkKey, type EvmNetwork, type Networks } from '../shared/config/networks.ts'
import { z } from 'zod'
import { ConfigError } from '../shared/errors.ts'
import { canonicalJson } from './event-log/plan-entries.evolve.ts'
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

/** Whether two values are the same JSON, whatever the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

/**
 * Refuses a configuration whose loans would have the ids of loans that the database has of another network: a
 * loan's id must name one loan. `indexed` is what networks were made of that were read before.
 */
export function refuseCollisions(
  networks: WatchedNetwork[],
  indexed: { network: string; watched: unknown }[],
): void {
  const configured = new Set(networks.map(({ network }) => network))
  for (const before of indexed.filter(({ network }) => !configured.has(network))) {
    const taken = namespacesOf(before.watched)
    for (const { network, watched } of networks) {
      if (!namespacesOf(watched).some((namespace) => taken.includes(namespace))) continue
      throw new ConfigError(
        `this database holds loans of ${before.network} with the same ids as those of ${network}: give ${network} an idPrefix, or use another database`,
      )
    }
  }
}

const watchedSchema = z.record(z.string(), z.looseObject({ idPrefix: z.string().nullable() }))

/** A deployment's loan ids are told from others by the contract's role and the prefix. */
function namespacesOf(watched: unknown): string[] {
  return Object.entries(watchedSchema.parse(watched)).map(
    ([role, { idPrefix }]) => `${role}/${idPrefix ?? ''}`,
  )
}
