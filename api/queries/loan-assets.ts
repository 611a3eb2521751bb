import { INDEXED, type Indexed } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

/** Tokens of a network at most, those seen first: anybody can make loans in tokens of one's own. */
const MOST_TOKENS = 1_000

export interface LoanAsset {
  symbol: string | null
  decimals: number | null
  networkId: string
}

/** Raw SQL: each network's tokens in the order in which they were seen, by one index. */
export const LOAN_ASSETS: Statement = {
  name: 'loan-assets',
  text: `
    select coalesce((
      select json_agg(json_build_array(asset.token, asset.symbol, asset.decimals, asset.network_id) order by asset.seen)
      from unnest($1::text[]) as asked(network_id) cross join lateral (
        select * from ledger.tokens where tokens.network_id = asked.network_id
        order by tokens.seen limit ${MOST_TOKENS}
      ) as asset
    ), '[]') as assets, ${INDEXED}`,
}

type Row = [token: string, symbol: string | null, decimals: number | null, networkId: string]

/** The tokens that loans on these networks name, by their address. A token of two networks is that of the first. */
export async function getLoanAssets(
  database: ReadDatabase,
  networkIds: string[],
): Promise<{ assets: Record<string, LoanAsset>; indexed: Indexed }> {
  const [row] = await database.rows<{ assets: Row[]; indexed: Indexed }>(LOAN_ASSETS, [networkIds])
  const assets: Record<string, LoanAsset> = {}
  for (const [token, symbol, decimals, networkId] of row?.assets ?? [])
    assets[token] ??= { symbol, decimals, networkId }
  return { assets, indexed: row?.indexed ?? null }
}
