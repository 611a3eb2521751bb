import { sql } from 'kysely'
import { hash } from '../test/helpers/random-chain.ts'
import type { Db } from '../shared/db/connect.ts'
import { RECORD_EVENTS } from '../shared/events/record-events.ts'

const CHUNK = 500_000
/** Kinds of records: events that the records have in turns. */
const KINDS = 26

/** The content to fill in. A log of 100 million entries exceeds most disks; the read model fits. */
export interface Fill {
  records: number
  /** False: the log is empty except for its head. */
  withLog: boolean
  /** Events of each id. Either market has a loan of it, and `f-1`, `f-2` … belong to these loans alone. */
  eventsPerLoan: number
  onProgress: (records: number) => void
}

/**
 * Fills log and read model like `records` appended events of another network: random transactions and keys, loans one
 * after the other. Postgres itself generates the rows and indexes them afterwards.
 */
export async function fillIndex(
  db: Db,
  { records, withLog, eventsPerLoan, onProgress }: Fill,
): Promise<void> {
  const tables = ['ledger.event_log', 'projection.activity', 'projection.loans', 'projection.loan_lists']
  const restores = await Promise.all(tables.map((table) => dropIndexes(db, table)))
  await sql`insert into projection.record_kinds
    select n, event, case n % 2 when 0 then 'ERC20FIL' else 'FILERC20' end, 'BENCH', '1', '0x' || repeat('c1', 20)
    from unnest(${RECORD_EVENTS.slice(0, KINDS)}::text[]) with ordinality as events(event, n)`.execute(db)
  for (let from = 1; from <= records; from += CHUNK) {
    const to = Math.min(records, from + CHUNK - 1)
    const part = { from, to, eventsPerLoan }
    if (withLog) await fillLog(db, part)
    await fillActivity(db, part)
    await fillLoans(db, part)
    onProgress(to)
  }
  await fillLists(db)
  await fillDays(db, records)
  await fillCounts(db, records)
  await sql`update ledger.log_head set last_position = ${records}::bigint, last_recorded_at = now()`.execute(
    db,
  )
  await sql`update projection.fold_state set version = gen_random_uuid(), folded_position = ${records}::bigint, records = ${records}::bigint`.execute(
    db,
  )
  for (const statement of restores.flat()) await sql.raw(statement).execute(db)
  // VACUUM cannot run in a transaction.
  await sql`vacuum analyze`.execute(db)
}

/** Loans of one account in each market. */
export const LOANS_OF_ACCOUNT = 10_000

/** The EVM address that borrows and lends the nth run of {@link LOANS_OF_ACCOUNT} loans. */
export function accountOf(n: number): string {
  return `0x${n.toString(16).padStart(40, '0')}`
}

export function transactionOf(n: number): string {
  return hash(n)
}

/** When the nth event was recorded. */
export function timeOf(n: number): Date {
  return new Date((1_650_000_000 + n) * 1000)
}

/** Drops the indexes and returns the statements that create them again. */
async function dropIndexes(db: Db, table: string): Promise<string[]> {
  const { rows } = await sql<{ drop: string; make: string }>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
    from pg_constraint where conrelid = ${table}::regclass and contype in ('p', 'u')
    union all
    select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    from pg_index where indrelid = ${table}::regclass
      and not exists (select from pg_constraint where conindid = indexrelid)`.execute(db)
  for (const { drop } of rows) await sql.raw(drop).execute(db)
  return rows.map(({ make }) => make)
}

interface Part extends Pick<Fill, 'eventsPerLoan'> {
  from: number
  to: number
}

/** Bodies have no nulls, and the spaces that the database puts into the JSON it builds are removed. */
async function fillLog(db: Db, { from, to, eventsPerLoan }: Part): Promise<void> {
  await sql`
    insert into ledger.event_log (position, step, network, blockchain, op, natural_key, revision, subject, kind,
      block_number, block_hash, log_index, body, recorded_at)
    select n, n - n % 500 + case when n % 500 = 0 then 0 else 1 end, 'evm:1', 'BENCH', 'append',
      tx || '/erc20Loans/0/Payback', 1, 'ERC20FIL/f-' || n / ${eventsPerLoan}, 'Payback', n / 10,
      '0x' || repeat(md5((n / 10)::text), 2), n % 10, json_strip_nulls(json_build_object('kind', 'Payback', 'role', 'erc20Loans',
        'contract', '0x' || repeat('c1', 20), 'txHash', tx, 'loanId', 'f-' || n / ${eventsPerLoan}::bigint,
        'contractLoanId', (n / ${eventsPerLoan}::bigint)::text, 'blockNumber', n / 10, 'blockTimeS', 1650000000 + n,
        'blockHash', '0x' || repeat(md5((n / 10)::text), 2), 'logIndex', n % 10, 'txLogIndex', 0, 'tokenDecimals', 18,
        'terms', '{"values":{}}'::json, 'args', json_build_object('borrower', '0x' || repeat('b1', 20),
          'amount', (n * 1000000007)::text, 'token', '0x' || repeat('aa', 20)))),
      to_timestamp(1650000000 + n)
    from (
      select n, '0x' || encode(sha256(n::text::bytea), 'hex') as tx
      from generate_series(${from}::bigint, ${to}::bigint) n
    ) made`.execute(db)
}

async function fillActivity(db: Db, { from, to, eventsPerLoan }: Part): Promise<void> {
  await sql`
    insert into projection.activity (id, slot, tx_hash, kind, loan_id, created_at, updated_at)
    select n * 1000000, case n / 512 when 0 then n else n % 512 + 1 end, '0x' || encode(sha256(n::text::bytea), 'hex'),
      1 + n % ${sql.lit(KINDS)}, 'f-' || n / ${eventsPerLoan}::bigint, to_timestamp(1650000000 + n), to_timestamp(1650000000 + n)
    from generate_series(${from}::bigint, ${to}::bigint) n`.execute(db)
}

const partyOf = sql`'0x' || lpad(to_hex(loan / ${sql.lit(LOANS_OF_ACCOUNT)}), 40, '0')`

async function fillLoans(db: Db, { from, to, eventsPerLoan }: Part): Promise<void> {
  await sql`
    insert into projection.loans (loan_type, loan_id, id, network, evm_part, fil_borrower,
      fil_lender, named_channel, secret_hash_a1, secret_hash_b1, contract_loan_id, opened_s, agreed_s, ended_s,
      last_block, last_log_index, created_at, updated_at)
    select loan_type, 'f-' || loan, loan * ${eventsPerLoan}::bigint - case loan_type when 'ERC20FIL' then 1 else 0 end,
      'evm:1', json_build_object('contractLoanId', loan::text, 'borrower', party, 'lender', party, 'filBorrower', '0x' || word,
        'filLender', '0x' || word, 'secretHashA1', '0x' || word, 'secretHashB1', '0x' || word, 'secretA1', null,
        'secretB1', null, 'loanExpiration', '1650000000', 'principalAmount', loan || '.5', 'interestAmount', '0.1',
        'paymentChannelId', '0x' || word, 'state', '5', 'blockchain', 'BENCH', 'networkId', '1', 'token', party),
      't1' || word, 't1' || word, 't2' || word, '0x' || word, '0x' || word, loan::text, 1650000000 + loan,
      1650000000 + loan, 1650000000 + loan, loan, 0, to_timestamp(1650000000 + loan), to_timestamp(1650000000 + loan)
    from (
      select loan, ${partyOf} as party, encode(sha256(loan::text::bytea), 'hex') as word
      from generate_series(${Math.ceil(from / eventsPerLoan)}::bigint, ${Math.floor(to / eventsPerLoan)}::bigint) loan
    ) made cross join (values ('ERC20FIL'), ('FILERC20')) markets(loan_type)`.execute(db)
}

async function fillLists(db: Db): Promise<void> {
  await sql`
    insert into projection.loan_lists (list, id, since)
    select list, id, id
    from projection.loans cross join lateral unnest(array[loan_type || '/5', evm_part->>'borrower']) list`.execute(
    db,
  )
}

async function fillDays(db: Db, records: number): Promise<void> {
  await sql`
    insert into projection.daily (loan_type, network_id, token, day, opened, open)
    select loan_type, '1', token, day, 100, 100
    from (values ('ERC20FIL'), ('FILERC20')) markets(loan_type)
      cross join (values ('0x' || repeat('aa', 20)), ('0x' || repeat('ab', 20))) tokens(token)
      cross join lateral generate_series(1650000000 / 86400, (1650000000 + ${records}::bigint) / 86400) day`.execute(
    db,
  )
}

async function fillCounts(db: Db, records: number): Promise<void> {
  await sql`
    insert into projection.activity_counts (level, number, before, records)
    select level, number,
      sum(own) over (partition by level, case level when 2 then 0 else number / 512 end order by number) - own, own
    from (
      select level, number,
        (least(${records}::bigint, (number + 1) * width - 1) - greatest(1, number * width) + 1)::bigint as own
      from (values (0, 512::bigint), (1, 512 * 512::bigint), (2, 512 * 512 * 512::bigint)) levels(level, width)
      cross join lateral generate_series(0, ${records}::bigint / width) number
    ) nodes`.execute(db)
}
