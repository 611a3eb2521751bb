import { sql, type Selectable } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import type { LoansTable } from '../../../shared/db/schema.ts'
import { isOneOf, unnest } from '../../../shared/db/unnest.ts'
import { canonicalAddress } from '../../../shared/filecoin/address.ts'
import type { CollateralLockPart } from '../../../shared/loans/collateral-lock.evolve.ts'
import type { Erc20LoanPart } from '../../../shared/loans/erc20-loan.evolve.ts'
import { daysOf } from '../daily/daily.evolve.ts'
import { putDays } from '../daily/daily.store.ts'
import { LOAN_KEY, loanKeyOf } from '../loans/loan-key.ts'
import { listsOf, type FilecoinSide } from '../loans/loan-lists.evolve.ts'
import { putLists } from '../loans/loan-lists.store.ts'
import type { FoldContext } from '../projection.ts'
import { sideOf, type LoanSide } from '../../../shared/channels/channel-parts.evolve.ts'
import { namesOf, type Channel } from '../../../shared/channels/channel.evolve.ts'

/** The contract's half of a loan, as far as payment channels need it. */
export interface StoredLoanSide extends LoanSide, FilecoinSide {
  /** The loan's id. */
  id: number
  /** `<loan type>/<loan id>`. */
  subject: string
  /** The contract's own state. */
  state: string
  part: Erc20LoanPart | CollateralLockPart
}

export async function getLoanSides(
  { trx, schema }: FoldContext,
  subjects: string[],
): Promise<StoredLoanSide[]> {
  if (subjects.length === 0) return []
  const rows = await trx
    .withSchema(schema)
    .selectFrom('loans')
    .where(isOneOf(LOAN_KEY, subjects.map(loanKeyOf)))
    .selectAll()
    .execute()
  return rows.map(toSide)
}

/** The loans that these channels could belong to, and perhaps a few more: the pure rule decides. */
export async function getLoansFor(
  { trx, schema }: FoldContext,
  channels: Channel[],
  toleranceS: number,
): Promise<StoredLoanSide[]> {
  if (channels.length === 0) return []
  const loans = sql.table(`${schema}.loans`)
  const addresses = channels.flatMap(({ robust, channelId }) =>
    [robust, channelId].flatMap((address) => canonicalAddress(address) ?? []),
  )
  const hashes = channels.flatMap(({ vouchers }) => vouchers.flatMap(({ facts }) => facts.secretHash ?? []))
  const stated = channels.flatMap(({ statements }) => statements.map(({ contractLoanId }) => contractLoanId))
  const parties = channels.flatMap(({ from, recipient, createdTimeS }) =>
    [...new Set([...namesOf(from), ...namesOf(recipient)])].map((name) => ({ name, createdTimeS })),
  )
  const open = (column: 'fil_borrower' | 'fil_lender') => sql`
    select loan_type, loan_id from party join ${loans} loan on loan.${sql.ref(column)} = party.name
      and coalesce(loan.ended_s, 9007199254740991) > party.first_s - ${toleranceS}::bigint
    where loan.opened_s <= party.last_s + ${toleranceS}::bigint`
  // Plain SQL: the builder needs about ten lines for each of these six ways to a loan.
  const { rows } = await sql<Selectable<LoansTable>>`
    with party as (
      select name, min(created_s) as first_s, max(created_s) as last_s
      from unnest(${parties.map(({ name }) => name)}::text[],
        ${parties.map(({ createdTimeS }) => createdTimeS)}::bigint[]) as party(name, created_s)
      group by name
    ), candidate as (
      select loan_type, loan_id from ${loans} where named_channel = any(${addresses}::text[])
      union select loan_type, loan_id from ${loans} where secret_hash_a1 = any(${hashes}::text[])
      union select loan_type, loan_id from ${loans} where secret_hash_b1 = any(${hashes}::text[])
      union select loan_type, loan_id from ${loans} where contract_loan_id = any(${stated}::text[])
      union ${open('fil_borrower')}
      union ${open('fil_lender')}
    )
    select loan.* from candidate join ${loans} loan using (loan_type, loan_id)`.execute(trx)
  return rows.map(toSide)
}

/** Subjects of the loans whose contract names a channel at one of these addresses. */
export async function getLoansNaming({ trx, schema }: FoldContext, addresses: string[]): Promise<string[]> {
  if (addresses.length === 0) return []
  const rows = await trx
    .withSchema(schema)
    .selectFrom('loans')
    .select(['loan_type', 'loan_id'])
    .where('named_channel', 'in', addresses)
    .execute()
  return rows.map(({ loan_type: type, loan_id: id }) => `${type}/${id}`)
}

export interface SideChange {
  loan: StoredLoanSide
  side: FilecoinSide
}

/** Sets what the Filecoin side adds to these loans. Only a new state is a change that readers see. */
export async function putFilecoinSides(context: FoldContext, changes: SideChange[], at: Date): Promise<void> {
  if (changes.length === 0) return
  const { trx, schema, position } = context
  const changed = changes.map(({ loan, side }) => ({
    ...loanKeyOf(loan.subject),
    state: side.derivedState,
    party: side.channelParty,
    seized_s: side.seizedS,
  }))
  await trx
    .withSchema(schema)
    .updateTable('loans')
    .from(unnest('changed', { ...LOAN_KEY, state: 'text', party: 'text', seized_s: 'bigint' }, changed))
    .set((eb) => ({
      derived_state: eb.ref('changed.state'),
      channel_party: eb.ref('changed.party'),
      seized_s: eb.ref('changed.seized_s'),
      updated_at: sql<Date>`case when loans.derived_state is distinct from changed.state then ${at}::timestamptz else loans.updated_at end`,
    }))
    .whereRef('loans.loan_type', '=', 'changed.loan_type')
    .whereRef('loans.loan_id', '=', 'changed.loan_id')
    .execute()
  const states = changes.filter(({ loan, side }) => side.derivedState !== loan.derivedState)
  await copyRows(
    trx,
    `${schema}.derived_states`,
    states.map(({ loan, side: { derivedState } }) => ({
      ...{ ...loanKeyOf(loan.subject), position, derived_state: derivedState, recorded_at: at },
    })),
  )
  const lists = changes.map(({ loan, side }) => {
    const { loanType } = loan.facts
    return {
      id: loan.id,
      before: listsOf(loanType, loan.part, loan),
      after: [{ lists: listsOf(loanType, loan.part, side), position }],
    }
  })
  await putLists(context, lists)
  const days = changes.map(({ loan, side }) => {
    const { loanType, times } = loan.facts
    return {
      before: daysOf(loanType, loan.part, times, loan.seizedS),
      after: daysOf(loanType, loan.part, times, side.seizedS),
    }
  })
  await putDays(context, days)
}

function toSide(row: Selectable<LoansTable>): StoredLoanSide {
  const part = row.evm_part as Erc20LoanPart | CollateralLockPart
  const times = { openedS: row.opened_s, agreedS: row.agreed_s, endedS: row.ended_s }
  return {
    id: row.id,
    subject: `${row.loan_type}/${row.loan_id}`,
    ...sideOf({ loanType: row.loan_type, loanId: row.loan_id, part, times }),
    state: part.state,
    part,
    derivedState: row.derived_state,
    channelParty: row.channel_party,
    seizedS: row.seized_s,
  }
}
