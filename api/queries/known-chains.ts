import { FILECOIN_BLOCKCHAIN } from '../../shared/config/networks.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

/** The chains that records are of, or that an indexer is configured to follow; sorted. */
export interface KnownChains {
  blockchains: string[]
  networkIds: string[]
}

const KNOWN_CHAINS: Statement = {
  name: 'known-chains',
  text: `
    with chains as (
      select blockchain, network_id from projection.record_kinds
      union select blockchain, network_id from ledger.network_status
    )
    select array(select blockchain from chains union select '${FILECOIN_BLOCKCHAIN}' order by 1) as blockchains,
      array(select distinct network_id from chains order by 1) as "networkIds"`,
}

/** Cheap: both tables have a few dozen rows. */
export async function getKnownChains(database: ReadDatabase): Promise<KnownChains> {
  const [row] = await database.rows<KnownChains>(KNOWN_CHAINS)
  if (row === undefined) throw new Error('the known chains have no row')
  return row
}
