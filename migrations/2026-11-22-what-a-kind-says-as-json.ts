import { sql, type Kysely } from 'kysely'

/**
 * What a kind says of its records stands in each record of an answer. It is kept as JSON, in the two pieces that stand
 * before and after the loan, so that nobody has to quote it again for each.
 *
 * With this version a channel that fits several loans by its parties goes to the one that had not ended when it was made.
 * A read model that is in use keeps what was decided before: `npm run ops -- replay` decides anew.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A read model that is being built has the shape of before: it is begun again.
  `drop schema if exists projection_next cascade`,

  // Of a text `to_json` is immutable; Postgres calls it stable for the sake of other types.
  `create function ledger.json_of(said text) returns text immutable language sql
     return coalesce(to_json(said)::text, 'null')`,
  `alter table projection.record_kinds
     add column json_before_loan text not null
       generated always as (',"event":' || ledger.json_of(event) || ',"loanId":') stored,
     add column json_after_loan text not null
       generated always as (',"blockchain":' || ledger.json_of(blockchain) || ',"networkId":' || ledger.json_of(network_id)
         || ',"contractAddress":' || ledger.json_of(contract_address) || ',"loanType":' || ledger.json_of(loan_type)) stored`,
]
