import { sql } from 'kysely'
import type { ActivityFilters, ActivitySearch } from '../../api/queries/activity-sql.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { seededRandom } from './random-chain.ts'

/** The content of a record from log position `since` until `until`; null: it still says so. */
interface Said {
  id: number
  since: number
  until: number | null
  kind: number
  tx_hash: string
  loan_id: string
}

/** A loan in an account's list. */
interface Listed {
  list: string
  id: number
  since: number
  until: number | null
}

const ENTRIES = 3_000
const IDS_PER_ENTRY = 1_000_000
const BASE_S = Date.UTC(2030, 0, 1) / 1000
const LOANS = ['1', '2', '3', '4', '5']
/** The kinds that are told of either market; the last one is rare. */
const KINDS = [
  'CreateLoanOffer',
  'CreateBorrowRequest',
  'ApproveRequest',
  'AcceptOffer',
  'Withdraw',
  'SeizeCollateral',
]
const marketOf = (kind: number): string => (kind % 2 === 1 ? 'ERC20FIL' : 'FILERC20')
const ACCOUNTS = ['f01', 'f02', 'f03']

/** Three entries share a time. */
const timeOf = (position: number): string =>
  new Date((BASE_S + Math.floor(position / 3)) * 1000).toISOString()

/**
 * A read model whose records were corrected and removed at random, and whose answers for any moment are known. Most
 * records of two long ranges of ids changed together, so that pages have to go on past them.
 */
export class PastModel {
  readonly entries = ENTRIES
  readonly #random: ReturnType<typeof seededRandom>
  readonly #said: Said[]
  readonly #listed: Listed[]
  /** The loan that an entry names. */
  readonly #loanOf = (id: number): string => `${marketOf(id)}/${LOANS[id % LOANS.length] ?? ''}`

  constructor(random: ReturnType<typeof seededRandom>) {
    this.#random = random
    const positions = Array.from({ length: ENTRIES }, (_, index) => index + 1)
    this.#said = positions.flatMap((position) => (random.chance(0.8) ? this.#lives(position) : []))
    this.#listed = positions
      .filter(() => random.chance(0.005))
      .flatMap((id) =>
        ACCOUNTS.filter(() => random.chance(0.5)).map((list) => ({ list, id, ...this.#stay(id) })),
      )
  }

  #lives(position: number): Said[] {
    const ends = [0, 1, 2].flatMap(() => (this.#random.chance(0.2) ? [this.#between(position, ENTRIES)] : []))
    if (position > 300 && position < 1_400) ends.push(1_500)
    if (position > 1_600 && position < 2_500) ends.push(2_600)
    const untils = [...new Set(ends)].filter((end) => end > position).sort((a, b) => a - b)
    const isGone = untils.length > 0 && (this.#random.chance(0.3) || untils.at(-1) === 1_500)
    return [...untils, ...(isGone ? [] : [null])].map((until, index) => ({
      ...{ id: position * IDS_PER_ENTRY, since: untils[index - 1] ?? position, until },
      kind: this.#random.chance(0.01) ? 6 : 1 + this.#random.below(5),
      tx_hash: `transaction-${this.#random.below(40)}`,
      loan_id: LOANS[this.#random.below(LOANS.length)] ?? '',
    }))
  }

  #stay(id: number): { since: number; until: number | null } {
    const since = this.#between(id - 1, Math.min(ENTRIES, id + 300))
    return { since, until: this.#random.chance(0.5) ? this.#between(since, ENTRIES) : null }
  }

  /** Above `low`, up to `high`. */
  #between(low: number, high: number): number {
    return low + 1 + this.#random.below(Math.max(1, high - low))
  }

  async fill(db: Db): Promise<void> {
    const rows = JSON.stringify(
      this.#said.map((one) => ({ ...one, at: timeOf(one.id / IDS_PER_ENTRY), updated: timeOf(one.since) })),
    )
    const said = sql`jsonb_to_recordset(${rows}::jsonb) as said(id bigint, since bigint, until bigint, kind integer,
      tx_hash text, loan_id text, at timestamptz, updated timestamptz)`
    await sql`insert into projection.record_kinds
      select n, (${KINDS}::text[])[n], case n % 2 when 1 then 'ERC20FIL' else 'FILERC20' end, 'DEVNET', '31337', '0x' || n
      from generate_series(1, 6) n`.execute(db)
    await sql`insert into projection.activity (id, slot, kind, tx_hash, loan_id, created_at, updated_at)
      select id, row_number() over (partition by id / 512000000 order by id), kind, tx_hash, loan_id, at, updated
      from ${said} where until is null`.execute(db)
    await sql`insert into projection.activity_past (id, since, until, kind, tx_hash, loan_id, created_at, updated_at)
      select id, since, until, kind, tx_hash, loan_id, at, updated from ${said} where until is not null`.execute(
      db,
    )
    await sql`insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, subject, kind,
        block_number, block_hash, log_index, body, recorded_at)
      select n, n, 'evm:31337', 'DEVNET', 'append', n::text, 1, (array['FILERC20', 'ERC20FIL'])[1 + n % 2] || '/'
        || (${LOANS}::text[])[1 + n % 5], 'Payback', n, '0x', 0, '{}', to_timestamp(${BASE_S}::bigint + n / 3)
      from generate_series(1, ${ENTRIES}::integer) n`.execute(db)
    const listed = sql`jsonb_to_recordset(${JSON.stringify(this.#listed)}::jsonb) as listed(list text, id bigint, since bigint, until bigint)`
    await sql`insert into projection.loan_lists (list, id, since)
      select list, id, since from ${listed} where until is null`.execute(db)
    await sql`insert into projection.loan_lists_past (list, id, since, until)
      select list, id, since, until from ${listed} where until is not null`.execute(db)
    await sql`update projection.fold_state set folded_position = ${ENTRIES}::bigint`.execute(db)
  }

  /** Random filters and bounds, and sometimes `after`, which turns the order around. */
  search(): ActivitySearch {
    const random = this.#random
    const some = (chance: number, values: readonly string[]): string[] | undefined =>
      random.chance(chance)
        ? [values[random.below(values.length)] ?? '', values[random.below(values.length)] ?? '']
        : undefined
    const id = (chance: number): string | undefined =>
      random.chance(chance) ? String(random.below(ENTRIES) * IDS_PER_ENTRY + 1) : undefined
    const times = [0, 1].map(() => timeOf(random.below(ENTRIES))).sort()
    const isRare = random.chance(0.1)
    return {
      ...{ limit: 1 + random.below(200), before: id(0.3), after: random.chance(0.5) ? '1' : id(0.2) },
      from: random.chance(0.2) ? times[0] : undefined,
      to: random.chance(0.2) ? times[1] : undefined,
      filters: {
        event: isRare ? ['SeizeCollateral'] : some(0.2, KINDS),
        loanType: some(0.1, ['ERC20FIL', 'FILERC20']),
        loanId: some(0.2, LOANS),
        account: some(0.2, ACCOUNTS),
        txHash: some(
          0.2,
          Array.from({ length: 41 }, (_, n) => `transaction-${n}`),
        ),
      },
    }
  }

  /** Ids and loans of all records that fit at the position, in the order of the search. */
  expected({ before, after, from, to, filters }: ActivitySearch, position: number): string[] {
    const fits = this.#said.filter((one) => {
      const created = timeOf(one.id / IDS_PER_ENTRY)
      return (
        isAt(one, position) &&
        one.id < Number(before ?? Infinity) &&
        one.id > Number(after ?? 0) &&
        created >= (from ?? '') &&
        created <= (to ?? '9') &&
        this.#fits(one, filters, position)
      )
    })
    const ids = fits.map(
      (one) => `${one.id} ${KINDS[one.kind - 1]} ${one.loan_id} ${one.tx_hash} ${timeOf(one.since)}`,
    )
    return after === undefined ? ids.toReversed() : ids
  }

  #fits(one: Said, { event, loanType, loanId, account, txHash }: ActivityFilters, position: number): boolean {
    const has = (given: string[] | undefined, value: string): boolean => given?.includes(value) ?? true
    const isParty = (): boolean =>
      this.#listed.some(
        (entry) =>
          has(account, entry.list) &&
          isAt(entry, position) &&
          this.#loanOf(entry.id) === `${marketOf(one.kind)}/${one.loan_id}`,
      )
    return (
      has(event, KINDS[one.kind - 1] ?? '') &&
      has(loanType, marketOf(one.kind)) &&
      has(loanId, one.loan_id) &&
      has(txHash, one.tx_hash) &&
      (account === undefined || isParty())
    )
  }
}

function isAt({ since, until }: { since: number; until: number | null }, position: number): boolean {
  return since <= position && position < (until ?? Infinity)
}
