import { sql } from 'kysely'
import { selectLoanLife, toLife, type FoundLife, type LifeRow } from '../../shared/db/loan-lives.ts'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { INDEXED_JSON, type Indexed } from './answer-cache.ts'
import { builder, toStatement } from './builder.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

export type { FoundLife } from '../../shared/db/loan-lives.ts'

const ID = sql<string>`$1::text`
const INDEXED_COLUMN = sql<Indexed>`${sql.raw(INDEXED_JSON)}`.as('indexed')

export const LOAN_LIVES: Record<LoanType, Statement> = {
  ERC20FIL: toStatement('loan-life-ERC20FIL', selectLoanLife(builder, 'ERC20FIL', ID).select(INDEXED_COLUMN)),
  FILERC20: toStatement('loan-life-FILERC20', selectLoanLife(builder, 'FILERC20', ID).select(INDEXED_COLUMN)),
}

/** Reads a loan, its channels and every network's clock at one moment; undefined if there is no such loan. */
export async function findLoanLife(
  database: ReadDatabase,
  loanType: LoanType,
  loanId: string,
): Promise<(FoundLife & { indexed: Indexed }) | undefined> {
  const [row] = await database.rows<LifeRow & { indexed: Indexed }>(LOAN_LIVES[loanType], [loanId])
  return row && { ...toLife(loanType, row), indexed: row.indexed }
}
