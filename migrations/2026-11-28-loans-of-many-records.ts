import { sql, type Kysely } from 'kysely'

/**
 * A loan's newest records are found kind by kind, however many it has in either market. The parts of its payment
 * channels name it by the value that the lookup takes, no longer by the number of the loan's row.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A read model that is being built has the old shape: it is begun again.
  `drop schema if exists projection_next cascade`,
  `drop index projection.activity_loan`,
  `create index activity_loan on projection.activity (loan_id, kind, id)`,
  // The pattern matches keys alone: a quote inside a JSON string has a backslash before it.
  `update projection.channels
     set part = regexp_replace(part::text, '"(erc20LoanId|collateralLockId)":"[0-9]+"', '"\\1":"' || loan_id || '"')::json
     where part is not null and loan_id is not null`,
]
