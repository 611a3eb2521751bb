import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { Trx } from '../../shared/db/transaction.ts'
import { isEvmLoanEvent } from '../../shared/events/chain-event.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { networkIdOf } from '../../shared/events/natural-key.ts'

interface SeenToken {
  networkId: string
  /** EIP-55. */
  token: string
  decimals: number | null
}

/** Notes the tokens of these entries with their decimals. A token stays when a reorg takes its loan away. */
export async function noteTokens(trx: Trx, entries: readonly LogEntry[]): Promise<void> {
  const tokens = tokensOf(entries)
  if (tokens.length === 0) return
  const column = <K extends keyof SeenToken>(name: K): SeenToken[K][] => tokens.map((one) => one[name])
  // Plain SQL: the builder has no unnest. A conflict alone would lock a known token's row in each step. A token may be
  // deployed after a loan first named it.
  await sql`
    insert into ledger.tokens as known (network_id, token, decimals)
    select * from unnest(${column('networkId')}::text[], ${column('token')}::text[], ${column('decimals')}::integer[])
      as given(network_id, token, decimals)
    where not exists (
      select from ledger.tokens as one where one.network_id = given.network_id and one.token = given.token
        and (one.decimals is not null or given.decimals is null)
    )
    on conflict (network_id, token) do update set decimals = excluded.decimals
    where known.decimals is null and excluded.decimals is not null`.execute(trx)
}

/** Each token once, in one order for all writers. */
function tokensOf(entries: readonly LogEntry[]): SeenToken[] {
  const seen = new Map<string, SeenToken>()
  for (const { event, network } of entries) {
    if (event === null || !isEvmLoanEvent(event) || !('token' in event.args)) continue
    const { token } = event.args
    const networkId = networkIdOf(network)
    const decimals = event.tokenDecimals ?? seen.get(`${networkId}/${token}`)?.decimals ?? null
    seen.set(`${networkId}/${token}`, { networkId, token, decimals })
  }
  return [...seen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, token]) => token)
}

/** Returns tokens whose symbol was not read and whose turn has come, the one that waits longest first. */
export async function getUnreadTokens(db: Db, networkId: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('ledger.tokens')
    .select('token')
    .where('network_id', '=', networkId)
    .where('symbol', 'is', null)
    .where('next_read_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('next_read_at')
    .limit(limit)
    .execute()
  return rows.map(({ token }) => token)
}

/** Minutes until a token that gave no symbol is asked again: 1, 2, 4 …, up to these. */
const LONGEST_WAIT_MIN = { answered: 24 * 60, unanswered: 15 }
const MOST_DOUBLINGS = 10

/** Keeps a token's symbol; null until it is asked again. `answered` is false when no node answered. */
export async function putSymbol(
  db: Db,
  networkId: string,
  { token, symbol, answered }: { token: string; symbol: string | null; answered: boolean },
): Promise<void> {
  const longest = LONGEST_WAIT_MIN[answered ? 'answered' : 'unanswered']
  await db
    .updateTable('ledger.tokens')
    .set({
      symbol,
      reads: sql<number>`reads + 1`,
      next_read_at: sql<Date>`clock_timestamp()
        + make_interval(mins => least((2 ^ least(reads, ${MOST_DOUBLINGS}::integer))::integer, ${longest}::integer))`,
    })
    .where('network_id', '=', networkId)
    .where('token', '=', token)
    .execute()
}
