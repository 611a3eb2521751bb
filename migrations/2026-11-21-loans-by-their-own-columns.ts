import { sql, type Kysely } from 'kysely'

/**
 * What ties a payment channel to a loan stands in columns of its own, and not in expressions over the lookup's JSON: an
 * index on an expression is written anew, and the JSON parsed, whenever the JSON changes at all.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A read model that is being built has the shape of before: it is begun again.
  `drop schema if exists projection_next cascade`,
  `alter table projection.loans
     add column secret_hash_a1 text, add column secret_hash_b1 text, add column contract_loan_id text`,
  `update projection.loans set secret_hash_a1 = evm_part->>'secretHashA1',
     secret_hash_b1 = evm_part->>'secretHashB1', contract_loan_id = evm_part->>'contractLoanId'`,
  `drop index projection.loans_secret_hash_a1`,
  `drop index projection.loans_secret_hash_b1`,
  `drop index projection.loans_contract_loan_id`,
  `create index loans_secret_hash_a1 on projection.loans (secret_hash_a1) where secret_hash_a1 is not null`,
  `create index loans_secret_hash_b1 on projection.loans (secret_hash_b1) where secret_hash_b1 is not null`,
  `create index loans_contract_loan_id on projection.loans (contract_loan_id)`,
  // A loan changes a handful of times: with room on its page most changes touch no index at all.
  `alter table projection.loans set (fillfactor = 70)`,
]
