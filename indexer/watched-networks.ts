import {
  FILECOIN_BLOCKCHAIN,
  filecoinNetworkKey,
  networkKey,
  type EvmNetwork,
  type FilecoinNetwork,
  type Networks,
} from '../shared/config/networks.ts'
import * as z from 'zod'
import { ConfigError } from '../shared/errors.ts'
import { canonicalJson } from '../shared/canonical-json.ts'
import type { Explorer } from '../shared/indexing-health.ts'
import { createEvmSource, type EvmSource } from './sources/evm/evm-source.ts'
import { createFilecoinSource, type FilecoinSource } from './sources/filecoin/filecoin-source.ts'
import type { EndpointWatch } from './sources/rpc/endpoint-watch.ts'
import type { SourceOptions } from './sources/rpc/rpc-client.ts'

interface NetworkIdentity {
  network: string
  blockchain: string
  networkId: string
  /** Shown to readers; it changes nothing that is indexed. */
  explorer: Explorer | null
  /** The contracts, or the first epoch, which decide the content of the index: others make another index. */
  watched: unknown
}

/** A configured network with the source that reads it. */
export type WatchedNetwork = WatchedEvmNetwork | WatchedFilecoinNetwork

export interface WatchedEvmNetwork extends NetworkIdentity {
  chain: 'evm'
  source: EvmSource
}

export interface WatchedFilecoinNetwork extends NetworkIdentity {
  chain: 'filecoin'
  source: FilecoinSource
}

/**
 * Opens a source for each configured network; nothing is asked yet. `report` hears what endpoints do wrong, and
 * `watchOf` makes the watch over a network's endpoints.
 */
export function openNetworks(
  networks: Networks,
  report: (network: string, message: string) => void,
  watchOf?: (network: string, endpoints: number) => EndpointWatch,
): WatchedNetwork[] {
  const options = (key: string, { rpcUrls }: EvmNetwork | FilecoinNetwork): SourceOptions => ({
    report: (_level, message) => report(key, message),
    watch: watchOf?.(key, rpcUrls.length),
  })
  return [
    ...networks.evm.map((network) => openEvm(network, options(networkKey(network), network))),
    ...networks.filecoin.map((network) =>
      openFilecoin(network, options(filecoinNetworkKey(network), network)),
    ),
  ]
}

function openEvm(network: EvmNetwork, options: SourceOptions): WatchedEvmNetwork {
  return {
    chain: 'evm',
    network: networkKey(network),
    blockchain: network.blockchain,
    networkId: network.networkId,
    explorer: network.explorer ?? null,
    watched: watchedOf(network),
    source: createEvmSource(network, options),
  }
}

function openFilecoin(network: FilecoinNetwork, options: SourceOptions): WatchedFilecoinNetwork {
  return {
    chain: 'filecoin',
    network: filecoinNetworkKey(network),
    blockchain: FILECOIN_BLOCKCHAIN,
    networkId: network.networkId,
    explorer: network.explorer ?? null,
    watched: { startEpoch: network.startEpoch },
    source: createFilecoinSource(network, options),
  }
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
  for (const before of indexed.filter(({ network }) => hasContracts(network))) {
    const taken = namespacesOf(before.watched)
    for (const { network, chain, watched } of networks) {
      if (chain !== 'evm' || network === before.network) continue
      if (!namespacesOf(watched).some((namespace) => taken.includes(namespace))) continue
      throw new ConfigError(
        `this database holds loans of ${before.network} with the same ids as those of ${network}: give ${network} an idPrefix (list the deployments of one chain in the order in which they were first listed), or use another database`,
      )
    }
  }
}

/** Channels have no loan ids: only contracts can claim those of another network. */
function hasContracts(network: string): boolean {
  return network.startsWith('evm:')
}

const watchedSchema = z.record(z.string(), z.looseObject({ idPrefix: z.string().nullable() }))

/** A deployment's loan ids are told from others by the contract's role and the prefix. */
function namespacesOf(watched: unknown): string[] {
  return Object.entries(watchedSchema.parse(watched)).map(
    ([role, { idPrefix }]) => `${role}/${idPrefix ?? ''}`,
  )
}
