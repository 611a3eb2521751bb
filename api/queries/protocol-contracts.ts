import { sql } from 'kysely'
import { eip55 } from '../../shared/eip55.ts'
import { builder, toStatement } from './builder.ts'
import { INDEXED_JSON, type Indexed } from './answer-cache.ts'
import type { ReadDatabase } from './read-database.ts'

const NAMES = { erc20Loans: 'ERC20Loans', erc20CollateralLock: 'ERC20CollateralLock' } as const

export type ProtocolContracts = Record<
  string,
  Partial<Record<'ERC20Loans' | 'ERC20CollateralLock', Contract>>
>

interface Contract {
  /** EIP-55. */
  address: string
}

/** The contracts that a network was read with, as the indexer noted them. */
type Watched = Partial<Record<keyof typeof NAMES, { address: string; idPrefix: string | null }>>

const WATCHED = toStatement(
  'watched-contracts',
  builder
    .selectFrom('ledger.chain_position')
    .select(['network', 'watched', sql<Indexed>`${sql.raw(INDEXED_JSON)}`.as('indexed')])
    .orderBy('network'),
)

/**
 * The contracts of each EVM chain by its chain id. Where a chain has several deployments, the one whose loans have no
 * prefix is told.
 */
export async function getProtocolContracts(
  database: ReadDatabase,
): Promise<{ contracts: ProtocolContracts; indexed: Indexed }> {
  const rows = await database.rows<{ network: string; watched: Watched; indexed: Indexed }>(WATCHED)
  const found: ProtocolContracts = {}
  for (const { network, watched } of rows) {
    const [, chainId] = /^evm:(\d+)/.exec(network) ?? []
    if (chainId === undefined) continue
    const contracts = (found[chainId] ??= {})
    for (const role of ['erc20Loans', 'erc20CollateralLock'] as const) {
      const deployment = watched[role]
      const address = deployment === undefined ? null : eip55(deployment.address)
      if (deployment === undefined || address === null) continue
      if (contracts[NAMES[role]] === undefined || deployment.idPrefix === null)
        contracts[NAMES[role]] = { address }
    }
  }
  return { contracts: found, indexed: rows[0]?.indexed ?? null }
}
