import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

interface ChannelRow {
  robust: string
  created_s: number
  link: string
  claimants: string[]
  loans: string[]
}

/**
 * Explains differences: for each channel in them, the loan it is assigned to and the other loans that it could belong
 * to.
 */
export async function explainChannels(db: Db, differences: readonly string[]): Promise<string[]> {
  const named = [...new Set(differences.flatMap((line) => line.match(/\bt(2[a-z0-9]{39}|0\d+)\b/g) ?? []))]
  if (named.length === 0) return []
  const { rows } = await sql<ChannelRow>`
    select robust, created_s, claimants, coalesce(c.loan_type || '/' || c.loan_id || ' ' || role, 'nobody') as link,
      array(select l.loan_type || '/' || l.loan_id || concat_ws(' ', ' opened', opened_s, 'agreed', agreed_s,
              'ended', ended_s, 'state', l.derived_state)
            from projection.loans l where l.fil_borrower = any (c.parties) or l.fil_lender = any (c.parties)) as loans
    from projection.channels c where addresses && ${named} or robust = any (${named})`.execute(db)
  return rows.map(
    ({ robust, created_s, link, claimants, loans }) =>
      `  (channel ${robust}, made at ${created_s}: of ${link}; claimed by ${claimants.join(', ') || 'nobody'}; ` +
      `of its parties are ${loans.join('; ') || 'no loans'})`,
  )
}
