import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { selectLoanLife, toLife } from '../../shared/db/loan-lives.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { listOfState } from '../../shared/events/loan-lists.ts'
import type { LoanLife } from '../../shared/loan-life/life.ts'
import { getLastPosition } from '../event-log/read-log.ts'
import type { Message } from './message.ts'
import { countWaiting, MOST_WAITING } from './outbox.store.ts'

/** Keys that one statement reads. */
const PAGE = 200
/** The states in which a contract has deadlines; all others are those of channels. */
const LISTS = ['1', '2', '3'].map((state) => listOfState('ERC20FIL', state))

export interface LoanKey {
  loanType: LoanType
  loanId: string
}

interface KeyRow extends LoanKey {
  /** Of the row by which pages go on. */
  id: number
}

/**
 * Yields every loan that can have a deadline: those that a contract waits for, and those with a channel that is not paid
 * out. Pages follow the keys of two indexes, which leave out all other loans.
 */
export async function* openLoans(db: Db): AsyncGenerator<LoanKey> {
  for (const list of LISTS) yield* paged((after) => loansOfList(db, list, after))
  yield* paged((after) => loansOfChannels(db, after))
}

async function* paged(read: (after: number) => Promise<KeyRow[]>): AsyncGenerator<LoanKey> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: KeyRow[] = await read(after)
    yield* rows
    after = rows.length < PAGE ? undefined : rows.at(-1)?.id
  }
}

async function loansOfList(db: Db, list: string, after: number): Promise<KeyRow[]> {
  return db
    .selectFrom('projection.loan_lists as entry')
    .innerJoinLateral(
      // LIMIT forces one key look-up for each entry, where a scan of all loans may seem cheaper.
      (lateral) =>
        lateral
          .selectFrom('projection.loans')
          .whereRef('projection.loans.id', '=', 'entry.id')
          .limit(1)
          .select(['loan_type', 'loan_id'])
          .as('loan'),
      (join) => join.onTrue(),
    )
    .where('entry.list', '=', list)
    .where('entry.id', '>', after)
    .orderBy('entry.list')
    .orderBy('entry.id')
    .limit(PAGE)
    .select(['entry.id', 'loan.loan_type as loanType', 'loan.loan_id as loanId'])
    .execute()
}

/** A loan with two open channels comes twice, which costs its reading alone. */
async function loansOfChannels(db: Db, after: number): Promise<KeyRow[]> {
  return db
    .selectFrom('projection.channels')
    .where('is_open', '=', true)
    .where('shown', '=', true)
    .where('id', '>', after)
    .orderBy('id')
    .limit(PAGE)
    .select(['id', sql<LoanType>`loan_type`.as('loanType'), sql<string>`loan_id`.as('loanId')])
    .execute()
}

/** One statement, and at most 10 channels with 500 vouchers each, as in the API. */
export async function findLife(db: Db, { loanType, loanId }: LoanKey): Promise<LoanLife | undefined> {
  const row = await selectLoanLife(db, loanType, sql<string>`${loanId}::text`).executeTakeFirst()
  return row && toLife(loanType, row).life
}

/**
 * Writes a message of a deadline to a webhook's outbox, unless it was written before. While the receiver is away and too
 * many messages wait, it is left to a later sweep.
 */
export async function putDeadline(
  db: Db,
  webhook: string,
  deadline: Date,
  message: (position: number) => Message,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    if ((await countWaiting(trx, webhook)) >= MOST_WAITING) return
    const position = await getLastPosition(trx)
    const { id, body } = message(position)
    const added = await trx
      .insertInto('ledger.webhook_deadlines')
      .values({ webhook, id, deadline })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (added === undefined) return
    await trx.insertInto('ledger.webhook_outbox').values({ webhook, id, position, body }).execute()
  })
}

/** No sweep tells of a deadline that has passed. */
export async function forgetDeadlines(db: Db): Promise<void> {
  await db
    .deleteFrom('ledger.webhook_deadlines')
    .where('deadline', '<', sql<Date>`clock_timestamp() - interval '1 day'`)
    .execute()
}
