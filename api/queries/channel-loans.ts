import { INDEXED, type Indexed } from './answer-cache.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

export interface ChannelLoan {
  loanType: 'ERC20FIL' | 'FILERC20'
  loanId: string
  role: 'collateral' | 'principal' | 'payback'
  network: string
}

/** Raw SQL, so that channels and heights are of one moment. One address is a channel of each network at most. */
export const CHANNEL_LOANS: Statement = {
  name: 'channel-loans',
  text: `
    select coalesce((
      select json_agg(json_build_object('loanType', loan_type, 'loanId', loan_id, 'role', role, 'network', network)
        order by network, id)
      from projection.channels where addresses && array[$1::text] and loan_id is not null
    ), '[]') as loans, ${INDEXED}`,
}

/** The loan of the payment channel at this canonical address, on each network. */
export async function getChannelLoans(
  database: ReadDatabase,
  channel: string,
): Promise<{ loans: ChannelLoan[]; indexed: Indexed }> {
  const [row] = await database.rows<{ loans: ChannelLoan[]; indexed: Indexed }>(CHANNEL_LOANS, [channel])
  return { loans: row?.loans ?? [], indexed: row?.indexed ?? null }
}
