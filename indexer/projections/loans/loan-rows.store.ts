import type { Selectable } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import type { LoansTable } from '../../../shared/db/schema.ts'
import { isOneOf, unnest } from '../../../shared/db/unnest.ts'
import { upsertRows } from '../../../shared/db/upsert-rows.ts'
import { addressIn } from '../../../shared/loans/loan-facts.evolve.ts'
import { daysOf } from '../daily/daily.evolve.ts'
import { putDays, type DaysChange } from '../daily/daily.store.ts'
import type { FoldContext } from '../projection.ts'
import { LOAN_KEY, loanKeyOf } from './loan-key.ts'
import type { LoanVersion } from '../../../shared/loans/loan-steps.evolve.ts'
import { listsOf, type FilecoinSide } from './loan-lists.evolve.ts'
import { putLists, type ListChange } from './loan-lists.store.ts'
import type { Loan } from '../../../shared/loans/loans.evolve.ts'

export interface StoredLoan {
  loan: Loan
  id: number
  side: FilecoinSide
  createdAt: Date
  updatedAt: Date
}

export interface Change {
  subject: string
  /** Undefined if no event of this loan is left. */
  loan: Loan | undefined
  /** Undefined if the loan is new. */
  before: StoredLoan | undefined
  /** Position of the segment's first entry for this loan; a new loan takes it as its id. */
  firstPosition: number
  createdAt: Date
  updatedAt: Date
  /** The loan after each step of the segment that concerns it. */
  versions: LoanVersion[]
}

/** A change of a loan that still has events. */
export type ChangeOfOne = Change & { loan: Loan }

export async function getLoans(
  { trx, schema }: FoldContext,
  subjects: string[],
): Promise<Map<string, StoredLoan>> {
  if (subjects.length === 0) return new Map()
  // LIMIT forces one key look-up per loan. A plain join would scan a table that has no statistics yet.
  const rows = await trx
    .withSchema(schema)
    .selectFrom(unnest('wanted', LOAN_KEY, subjects.map(loanKeyOf)))
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('loans')
          .selectAll()
          .whereRef('loans.loan_type', '=', 'wanted.loan_type')
          .whereRef('loans.loan_id', '=', 'wanted.loan_id')
          .limit(1)
          .as('loan'),
      (join) => join.onTrue(),
    )
    .selectAll('loan')
    .execute()
  return new Map(rows.map((row) => [`${row.loan_type}/${row.loan_id}`, toStored(row)]))
}

function toStored(row: Selectable<LoansTable>): StoredLoan {
  return {
    loan: {
      loanType: row.loan_type,
      loanId: row.loan_id,
      network: row.network,
      part: row.evm_part as Loan['part'],
      times: { openedS: row.opened_s, agreedS: row.agreed_s, endedS: row.ended_s },
      lastBlock: row.last_block,
      lastLogIndex: row.last_log_index,
    },
    id: row.id,
    side: { derivedState: row.derived_state, channelParty: row.channel_party, seizedS: row.seized_s },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export async function writeChanges(context: FoldContext, changes: Change[]): Promise<void> {
  const left = changes.filter((change): change is ChangeOfOne => change.loan !== undefined)
  await deleteLoans(
    context,
    changes.filter(({ loan, before }) => loan === undefined && before !== undefined),
  )
  await addLoans(
    context,
    left.filter(({ before }) => before === undefined),
  )
  await changeLoans(
    context,
    left.filter(({ before }) => before !== undefined),
  )
  await putLists(context, changes.map(listChangeOf))
  await putDays(context, changes.map(daysChangeOf))
}

const NO_SIDE: FilecoinSide = { derivedState: null, channelParty: null, seizedS: null }

function listChangeOf({ before, firstPosition, versions }: Change): ListChange {
  const side = before?.side ?? NO_SIDE
  const listsIn = (loan: Loan | undefined): string[] =>
    loan === undefined ? [] : listsOf(loan.loanType, loan.part, side)
  return {
    id: before?.id ?? firstPosition,
    before: listsIn(before?.loan),
    after: versions.map(({ loan, position }) => ({ lists: listsIn(loan), position })),
  }
}

function daysChangeOf({ loan, before }: Change): DaysChange {
  const seizedS = before?.side.seizedS ?? null
  const of = (one: Loan | undefined) =>
    one === undefined ? [] : daysOf(one.loanType, one.part, one.times, seizedS)
  return { before: of(before?.loan), after: of(loan) }
}

async function deleteLoans({ trx, schema }: FoldContext, gone: Change[]): Promise<void> {
  if (gone.length === 0) return
  const keys = gone.map(({ subject }) => loanKeyOf(subject))
  await trx.withSchema(schema).deleteFrom('loans').where(isOneOf(LOAN_KEY, keys)).execute()
}

/** A loan's row; `toPart` converts its part. */
function rowOf<P>(
  { loan, firstPosition, createdAt, updatedAt }: ChangeOfOne,
  toPart: (part: Loan['part']) => P,
) {
  const { part } = loan
  return {
    loan_type: loan.loanType,
    loan_id: loan.loanId,
    id: firstPosition,
    network: loan.network,
    evm_part: toPart(part),
    fil_borrower: addressIn(part.filBorrower),
    fil_lender: addressIn(part.filLender),
    named_channel: addressIn(part.paymentChannelId),
    secret_hash_a1: part.secretHashA1,
    secret_hash_b1: part.secretHashB1,
    contract_loan_id: part.contractLoanId,
    opened_s: loan.times.openedS,
    agreed_s: loan.times.agreedS,
    ended_s: loan.times.endedS,
    last_block: loan.lastBlock,
    last_log_index: loan.lastLogIndex,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

/** Inserts loans that are not stored, as most are during a backfill. */
function addLoans({ trx, schema }: FoldContext, added: ChangeOfOne[]): Promise<void> {
  return copyRows(
    trx,
    `${schema}.loans`,
    added.map((change) => rowOf(change, (part) => JSON.stringify(part))),
  )
}

/** Updates stored loans, which keep their ids. */
function changeLoans({ trx, schema }: FoldContext, changed: ChangeOfOne[]): Promise<void> {
  const rows = changed.map((change) => rowOf(change, (part) => part))
  return upsertRows(trx, `${schema}.loans`, { key: Object.keys(LOAN_KEY), kept: ['id', 'created_at'] }, rows)
}
