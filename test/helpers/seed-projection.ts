import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'

const FIRST_SECOND = Date.UTC(2030, 0, 1) / 1000

/** Ids of seeded records are three log entries apart. */
export const SEEDED_ID_STEP = 3_000_000

/**
 * Fills the read model with `count` records of the indexer's shapes. Record n has the id n * SEEDED_ID_STEP and belongs
 * to loan n % 1000 of either market. A record's content is a function of n alone.
 */
export async function seedRecords(db: Db, count: number, schema = 'projection'): Promise<void> {
  await sql`
    insert into ${sql.table(`${schema}.record_kinds`)} values
      (1, 'CreateLoanOffer', 'ERC20FIL', 'DEVNET', '31337', '0x5FbDB2315678afecb367f032d93F642f64180aa3'),
      (2, 'CreateBorrowRequest', 'FILERC20', 'DEVNET', '31337', '0x5FbDB2315678afecb367f032d93F642f64180aa3')
    on conflict do nothing`.execute(db)
  await sql`
    insert into ${sql.table(`${schema}.activity`)} (id, slot, tx_hash, kind, loan_id, created_at, updated_at)
    select n * ${sql.lit(SEEDED_ID_STEP)}, row_number() over (partition by n * ${sql.lit(SEEDED_ID_STEP)} / 512000000 order by n),
      '0x' || lpad(to_hex(n), 64, '0'), 1 + n % 2, (n % 1000)::text,
      to_timestamp(${FIRST_SECOND}::bigint + n) + interval '7 milliseconds', to_timestamp(${FIRST_SECOND}::bigint + n) + interval '120 milliseconds'
    from generate_series(1, ${count}::bigint) as n`.execute(db)
  await sql`
    insert into ${sql.table(`${schema}.activity_counts`)} (level, number, before, records)
    select level, number,
      sum(count(*)) over (partition by level, case level when 2 then 0 else number / 512 end order by number) - count(*),
      count(*)
    from (
      select level, id / width as number
      from ${sql.table(`${schema}.activity`)}, (values (0, 512000000::bigint), (1, 512 * 512000000::bigint),
        (2, 512 * 512 * 512000000::bigint)) levels(level, width)
    ) nodes group by level, number`.execute(db)
  await sql`update ${sql.table(`${schema}.fold_state`)} set version = gen_random_uuid(), records = ${count}`.execute(
    db,
  )
}

/** Adds one loan with the given id and contract part (its fields keep their order). */
export async function seedLoan(
  db: Db,
  loan: { loanType: string; loanId: string; id: number; part: object },
): Promise<void> {
  await sql`
    insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index,
      created_at, updated_at)
    values (${loan.loanType}, ${loan.loanId}, ${loan.id}, 'evm:31337', ${JSON.stringify(loan.part)}::json, 1, 0,
      '2030-01-01T00:00:00.007Z', '2030-01-02T00:00:00Z')`.execute(db)
}

export interface SeededNetwork {
  network?: string
  state?: string
  problem?: string | null
  head?: number
  /** Age in seconds, by the clock. */
  headAgeS?: number
  indexed?: number
  indexedAgeS?: number
  observedAgoS?: number
  movedAgoS?: number
  /** Defaults to one indexer for all seeded networks. */
  toldWith?: string[]
}

/** Writes the reports of a network's reader and writer, which are the same; by default it follows, at the head, just now. */
export async function seedNetwork(db: Db, given: SeededNetwork = {}): Promise<void> {
  const line = { network: 'evm:31337', state: 'following', problem: null, head: 100, headAgeS: 1, ...given }
  const { indexed = line.head, indexedAgeS = line.headAgeS, observedAgoS = 0, movedAgoS = 1 } = given
  const toldWith = given.toldWith ?? ['evm:31337', line.network]
  // One time for both ages: a second may pass between two statements.
  const nowS = Math.floor(Date.now() / 1000)
  await sql`delete from ledger.network_status where network = ${line.network}`.execute(db)
  await sql`delete from ledger.chain_position where network = ${line.network}`.execute(db)
  await sql`
    insert into ledger.network_status (network, role, blockchain, network_id, state, problem, head_number, head_time_s,
      finalized_number, queue_waiting, queue_failed, worker_healthy, told_with, observed_at)
    select ${line.network}, role, 'DEVNET', '31337', ${line.state}, ${line.problem}, ${line.head}::bigint,
      ${nowS - line.headAgeS}::bigint, 50, 2, 0, true, ${toldWith}::text[],
      now() - make_interval(secs => ${observedAgoS}::float8)
    from unnest(array['reader', 'writer']) as role`.execute(db)
  await db
    .insertInto('ledger.chain_position')
    .values({
      network: line.network,
      start_number: 0,
      watched: '{}',
      writer_epoch: 1,
      number: indexed,
      hash: '0x01',
      time_s: nowS - indexedAgeS,
      moved_at: sql<Date>`now() - make_interval(secs => ${movedAgoS}::float8)`,
    })
    .execute()
}
