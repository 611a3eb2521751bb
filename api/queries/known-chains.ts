import { FILECOIN_BLOCKCHAIN } from '../../shared/config/networks.ts'
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

function sorted(names: string[]): string[] {
  return [...new Set(names)].sort()
}
