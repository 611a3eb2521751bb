import { FILECOIN_BLOCKCHAIN } from '../../shared/config/networks.ts'
import { notOneOf } from '../schemas/parameters.ts'
import type { ActivityFilters } from './activity-sql.ts'
import { builder, toStatement } from './builder.ts'
import type { ReadDatabase } from './read-database.ts'

/** The chains that have records or that an indexer is configured to follow; sorted. */
export interface KnownChains {
  blockchains: string[]
  networkIds: string[]
}

const KNOWN_CHAINS = toStatement(
  'known-chains',
  builder
    .selectFrom('projection.record_kinds')
    .select(['blockchain', 'network_id'])
    .union(builder.selectFrom('ledger.network_status').select(['blockchain', 'network_id'])),
)

/** Cheap, because both tables have a few dozen rows. */
export async function getKnownChains(database: ReadDatabase): Promise<KnownChains> {
  const chains = await database.rows<{ blockchain: string; network_id: string }>(KNOWN_CHAINS)
  return {
    blockchains: sorted([FILECOIN_BLOCKCHAIN, ...chains.map(({ blockchain }) => blockchain)]),
    networkIds: sorted(chains.map(({ network_id }) => network_id)),
  }
}

/** What is wrong with the values of these closed sets, which only the database knows; null if nothing is. */
export async function mistakeInChains(
  database: ReadDatabase,
  { blockchain = [], networkId = [] }: Pick<ActivityFilters, 'blockchain' | 'networkId'>,
): Promise<string | null> {
  if (blockchain.length + networkId.length === 0) return null
  const { blockchains, networkIds } = await getKnownChains(database)
  if (!blockchain.every((one) => blockchains.includes(one))) return notOneOf('blockchain', blockchains)
  // No chain is known before one is configured.
  const isKnown = networkIds.length === 0 || networkId.every((one) => networkIds.includes(one))
  return isKnown ? null : notOneOf('networkId', networkIds)
}

function sorted(names: string[]): string[] {
  return [...new Set(names)].sort()
}
