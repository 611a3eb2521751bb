import { sql } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import { overlapping } from '../../../shared/db/transaction.ts'
import type { LoanType } from '../../../shared/events/chain-event.ts'
import type { PlaceInChain } from '../../../shared/events/event-place.ts'
import type { AppendEntry, HeldEntry, LogEntry } from '../../../shared/events/log-entry.ts'
import type { FoldContext, GatheredSegment, Projection } from '../projection.ts'
import { addressIn } from '../links/loan-facts.evolve.ts'
import { isAboutChannel, stepsOf } from '../segments.evolve.ts'
import { evolveLoan, isAfter, makesLoan, type Loan } from './loans.evolve.ts'

/** The contract's half of every loan. */
export const loansProjection: Projection = {
  name: 'loans',
  apply: async (context, segment) => {
    const entriesOf = groupBySubject(segment)
    const subjects = [...entriesOf.keys()]
    // What is corrected or taken back is folded anew in any case: asked for with what is stored, before the log is written.
    const corrected = subjects.filter((subject) => entriesOf.get(subject)?.some(({ op }) => op !== 'append'))
    const [stored, held] = await overlapping([
      getLoans(context, subjects),
      getHeldBySubject(context, corrected),
    ])
    await writeChanges(context, await changesOf(context, { entriesOf, stored, held }))
  },
  gather: () => new GatheredLoans(),
}

/**
 * Loans by the entries that come one after the other. One that the first of them makes is folded at once, as if it were not stored;
 * whether that is so is asked when all are there, and where it is not its entries are read from the log once more.
 */
class GatheredLoans implements GatheredSegment {
  readonly #made = new Map<string, Made>()
  /** Of loans that something else is said of first. */
  readonly #entriesOf = new Map<string, LogEntry[]>()

  take(entry: AppendEntry): void {
    const { subject, event } = entry
    if (subject === null) return
    const made = this.#made.get(subject)
    if (made !== undefined) goOn(made, entry)
    else if (!this.#entriesOf.has(subject) && makesLoan(event)) this.#made.set(subject, make(subject, entry))
    else addTo(this.#entriesOf, subject, entry)
  }

  async write(context: FoldContext): Promise<void> {
    const made = [...this.#made.values()]
    const stored = await getLoans(context, [...this.#made.keys(), ...this.#entriesOf.keys()])
    const isNew = ({ change, isInOrder }: Made): boolean => isInOrder && !stored.has(change.subject)
    const others = made.filter((one) => !isNew(one)).map(({ change }) => change)
    const held = await getHeldBySubject(
      context,
      others.map(({ subject }) => subject),
    )
    // All that is held of a loan from its first entry here on: nothing but appends came since.
    for (const { subject, firstPosition } of others) {
      const entries = held.get(subject)?.filter(({ position }) => position >= firstPosition) ?? []
      this.#entriesOf.set(
        subject,
        entries.sort((a, b) => a.position - b.position),
      )
    }
    const changes = await changesOf(context, { entriesOf: this.#entriesOf, stored, held })
    await writeChanges(context, [...made.filter(isNew).map(({ change }) => change), ...changes])
  }
}

/** A loan from the event that makes it on. */
interface Made {
  change: ChangeOfOne
  /** Whether each event was behind the ones before it. */
  isInOrder: boolean
}

function make(subject: string, entry: AppendEntry): Made {
  const { position, recordedAt } = entry
  const loan = evolveLoan(undefined, entry)
  if (loan === undefined) throw new Error(`log entry ${position} makes no loan`)
  const times = { createdAt: recordedAt, updatedAt: recordedAt }
  return {
    change: { subject, loan, isNew: true, firstPosition: position, ...times, isMoved: false },
    isInOrder: true,
  }
}

function goOn(made: Made, entry: AppendEntry): void {
  const { change } = made
  made.isInOrder &&= isAfter(entry.event, lastOf(change.loan))
  const loan = evolveLoan(change.loan, entry) ?? change.loan
  if (!saysTheSame(change.loan, loan)) change.updatedAt = entry.recordedAt
  change.loan = loan
}

/** What is asked for only where it is needed: entries that do not continue what is stored. */
async function changesOf(
  context: FoldContext,
  {
    entriesOf,
    stored,
    held,
  }: {
    entriesOf: ReadonlyMap<string, LogEntry[]>
    stored: ReadonlyMap<string, StoredLoan>
    held: Map<string, HeldEntry[]>
  },
): Promise<Change[]> {
  const late = [...entriesOf]
    .filter(([subject, entries]) => !held.has(subject) && !inOrder(stored.get(subject)?.loan, entries))
    .map(([subject]) => subject)
  for (const [subject, entries] of await getHeldBySubject(context, late)) held.set(subject, entries)
  return [...entriesOf].map(([subject, entries]) =>
    fold(subject, stored.get(subject), entries, held.get(subject)),
  )
}

/** What holds of each of these loans; an empty list where nothing does. */
async function getHeldBySubject(context: FoldContext, subjects: string[]): Promise<Map<string, HeldEntry[]>> {
  const held = new Map(subjects.map((subject): [string, HeldEntry[]] => [subject, []]))
  if (held.size === 0) return held
  for (const entry of await context.heldEntriesOf(subjects)) held.get(entry.subject ?? '')?.push(entry)
  return held
}

interface StoredLoan {
  loan: Loan
  createdAt: Date
  updatedAt: Date
}

interface Change {
  subject: string
  /** Undefined: no event of this loan is left. */
  loan: Loan | undefined
  isNew: boolean
  /** Position of the first entry of the segment that concerns this loan: a new loan's id. */
  firstPosition: number
  createdAt: Date
  updatedAt: Date
  /** Whether it is stored, and what the contract says of it is the same now: it may be of other blocks. */
  isMoved: boolean
}

/** Of a loan that has events. */
type ChangeOfOne = Change & { loan: Loan }

function groupBySubject(segment: LogEntry[]): Map<string, LogEntry[]> {
  const groups = new Map<string, LogEntry[]>()
  const add = (subject: string | null, entry: LogEntry): void => {
    if (subject !== null && !isAboutChannel(entry)) addTo(groups, subject, entry)
  }
  for (const entry of segment) {
    add(entry.subject, entry)
    add(entry.previousSubject, entry)
  }
  return groups
}

function addTo(groups: Map<string, LogEntry[]>, subject: string, entry: LogEntry): void {
  const group = groups.get(subject)
  if (group === undefined) groups.set(subject, [entry])
  else group.push(entry)
}

/** Whether the entries may be folded one after the other onto what is stored. */
function inOrder(loan: Loan | undefined, entries: LogEntry[]): boolean {
  let last: PlaceInChain | null = loan === undefined ? null : lastOf(loan)
  for (const entry of entries) {
    if (entry.op !== 'append' || !isAfter(entry.event, last)) return false
    last = entry.event
  }
  return true
}

function lastOf({ lastBlock, lastLogIndex }: Loan): PlaceInChain {
  return { blockNumber: lastBlock, logIndex: lastLogIndex }
}

/**
 * Step by step, for updatedAt is the time of the last step that changed something, however the log is cut. A step that does
 * not continue the loan makes it anew from all that held then (`held`, which has everything up to the last step).
 */
function fold(
  subject: string,
  before: StoredLoan | undefined,
  entries: LogEntry[],
  held: HeldEntry[] | undefined,
): Change {
  const { position, recordedAt } = firstOf(entries)
  let loan = before?.loan
  let updatedAt = before?.updatedAt ?? recordedAt
  let isMoved = before !== undefined
  const become = (next: Loan | undefined, at: Date): void => {
    if (!saysTheSame(loan, next)) {
      updatedAt = at
      isMoved = false
    }
    loan = next
  }
  for (const step of held === undefined ? [entries] : stepsOf(entries)) {
    if (inOrder(loan, step)) {
      for (const entry of step) become(evolveLoan(loan, entry), entry.recordedAt)
    } else {
      become(foldAnew(subject, held, step), firstOf(step).recordedAt)
    }
  }
  return {
    subject,
    loan,
    isNew: before === undefined,
    firstPosition: position,
    createdAt: before?.createdAt ?? recordedAt,
    updatedAt,
    isMoved,
  }
}

/** The loan after a step. Where several steps are folded at once they only append: what held then is what holds of before. */
function foldAnew(subject: string, held: HeldEntry[] | undefined, step: LogEntry[]): Loan | undefined {
  const last = step.at(-1)?.position
  if (held === undefined || last === undefined) throw new Error(`what holds of ${subject} was not read`)
  return held.filter(({ position }) => position <= last).reduce<Loan | undefined>(evolveLoan, undefined)
}

function saysTheSame(a: Loan | undefined, b: Loan | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.part === b.part || sameTexts(a.part, b.part)
}

/** Parts are flat, of texts and nulls. */
function sameTexts<P extends object>(a: P, b: P): boolean {
  for (const name in a) if (a[name] !== b[name]) return false
  for (const name in b) if (!(name in a)) return false
  return true
}

function firstOf(entries: LogEntry[]): LogEntry {
  const [first] = entries
  if (first === undefined) throw new Error('a loan changes by at least one entry')
  return first
}

interface LoanRow {
  loan_type: LoanType
  loan_id: string
  network: string
  evm_part: Loan['part']
  opened_s: number | null
  agreed_s: number | null
  ended_s: number | null
  last_block: number
  last_log_index: number
  created_at: Date
  updated_at: Date
}

async function getLoans({ trx, schema }: FoldContext, subjects: string[]): Promise<Map<string, StoredLoan>> {
  if (subjects.length === 0) return new Map()
  const { rows } = await sql<LoanRow>`
    select loan.loan_type, loan.loan_id, network, evm_part, opened_s, agreed_s, ended_s, last_block,
      last_log_index, created_at, updated_at
    from unnest(${subjects.map(typeOf)}::text[], ${subjects.map(idOf)}::text[]) wanted(loan_type, loan_id)
      cross join lateral (
        select * from ${sql.table(`${schema}.loans`)} each_loan
        where each_loan.loan_type = wanted.loan_type and each_loan.loan_id = wanted.loan_id limit 1
      ) loan`.execute(trx)
  return new Map(
    rows.map((row) => [
      `${row.loan_type}/${row.loan_id}`,
      {
        loan: {
          loanType: row.loan_type,
          loanId: row.loan_id,
          network: row.network,
          part: row.evm_part,
          times: { openedS: row.opened_s, agreedS: row.agreed_s, endedS: row.ended_s },
          lastBlock: row.last_block,
          lastLogIndex: row.last_log_index,
        },
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      },
    ]),
  )
}

async function writeChanges(context: FoldContext, changes: Change[]): Promise<void> {
  const left = changes.filter((change): change is ChangeOfOne => change.loan !== undefined)
  await overlapping([
    deleteLoans(
      context,
      changes.filter(({ loan, isNew }) => loan === undefined && !isNew),
    ),
    addLoans(
      context,
      left.filter(({ isNew }) => isNew),
    ),
    moveLoans(
      context,
      left.filter(({ isMoved }) => isMoved),
    ),
    changeLoans(
      context,
      left.filter(({ isNew, isMoved }) => !isNew && !isMoved),
    ),
  ])
}

async function deleteLoans({ trx, schema }: FoldContext, gone: Change[]): Promise<void> {
  if (gone.length === 0) return
  await sql`
    delete from ${sql.table(`${schema}.loans`)} loan
    using unnest(${gone.map((change) => typeOf(change.subject))}::text[], ${gone.map((change) => idOf(change.subject))}::text[])
      as gone(loan_type, loan_id)
    where loan.loan_type = gone.loan_type and loan.loan_id = gone.loan_id`.execute(trx)
}

const COLUMNS = {
  loan_type: 'text',
  loan_id: 'text',
  id: 'bigint',
  network: 'text',
  state: 'text',
  borrower: 'text',
  lender: 'text',
  evm_part: 'json',
  fil_borrower: 'text',
  fil_lender: 'text',
  named_channel: 'text',
  secret_hash_a1: 'text',
  secret_hash_b1: 'text',
  contract_loan_id: 'text',
  opened_s: 'bigint',
  agreed_s: 'bigint',
  ended_s: 'bigint',
  last_block: 'bigint',
  last_log_index: 'integer',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const

/** A loan's row, with its part as `toPart` makes it. */
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
    state: part.state,
    borrower: part.borrower,
    lender: part.lender,
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

/** Loans that are not stored: of a backfill most. Copied in, a row takes less than half of what it takes as JSON. */
function addLoans({ trx, schema }: FoldContext, added: ChangeOfOne[]): Promise<void> {
  return copyRows(trx, `${schema}.loans`, COLUMNS, added, (change) =>
    rowOf(change, (part) => JSON.stringify(part)),
  )
}

/**
 * Loans that are stored; they keep their ids. Each is found by the conflict with it: an update would join with the table, and
 * a planner that does not know it yet would read all of it.
 */
async function changeLoans({ trx, schema }: FoldContext, changed: ChangeOfOne[]): Promise<void> {
  if (changed.length === 0) return
  const rows = changed.map((change) => rowOf(change, (part) => part))
  // json_…, not jsonb_…: the order of evm_part's fields must survive.
  await sql`
    insert into ${sql.table(`${schema}.loans`)} (loan_type, loan_id, id, network, state, borrower, lender, evm_part,
      fil_borrower, fil_lender, named_channel, secret_hash_a1, secret_hash_b1, contract_loan_id,
      opened_s, agreed_s, ended_s, last_block, last_log_index, created_at, updated_at)
    select loan_type, loan_id, id, network, state, borrower, lender, evm_part,
      fil_borrower, fil_lender, named_channel, secret_hash_a1, secret_hash_b1, contract_loan_id,
      opened_s, agreed_s, ended_s, last_block, last_log_index, created_at, updated_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as row(loan_type text, loan_id text, id bigint, network text,
      state text, borrower text, lender text, evm_part json,
      fil_borrower text, fil_lender text, named_channel text, secret_hash_a1 text, secret_hash_b1 text, contract_loan_id text,
      opened_s bigint, agreed_s bigint, ended_s bigint, last_block bigint, last_log_index integer,
      created_at timestamptz, updated_at timestamptz)
    on conflict (loan_type, loan_id) do update set
      network = excluded.network, state = excluded.state, borrower = excluded.borrower, lender = excluded.lender,
      evm_part = excluded.evm_part, fil_borrower = excluded.fil_borrower, fil_lender = excluded.fil_lender,
      named_channel = excluded.named_channel, secret_hash_a1 = excluded.secret_hash_a1,
      secret_hash_b1 = excluded.secret_hash_b1, contract_loan_id = excluded.contract_loan_id, opened_s = excluded.opened_s, agreed_s = excluded.agreed_s,
      ended_s = excluded.ended_s, last_block = excluded.last_block, last_log_index = excluded.last_log_index,
      updated_at = excluded.updated_at`.execute(trx)
}

/**
 * Loans of which the contract says the same, by events of other blocks: many of those that a reorg is about. Each is looked up
 * by itself, as in `getLoans`.
 */
async function moveLoans({ trx, schema }: FoldContext, moved: ChangeOfOne[]): Promise<void> {
  if (moved.length === 0) return
  const loans = sql.table(`${schema}.loans`)
  const ofEach = <V>(value: (loan: Loan) => V): V[] => moved.map(({ loan }) => value(loan))
  await sql`
    update ${loans} loan set network = moved.network, opened_s = moved.opened_s, agreed_s = moved.agreed_s, ended_s = moved.ended_s,
      last_block = moved.last_block, last_log_index = moved.last_log_index
    from unnest(${ofEach(({ loanType }) => loanType)}::text[], ${ofEach(({ loanId }) => loanId)}::text[],
        ${ofEach(({ network }) => network)}::text[],
        ${ofEach(({ times }) => times.openedS)}::bigint[], ${ofEach(({ times }) => times.agreedS)}::bigint[],
        ${ofEach(({ times }) => times.endedS)}::bigint[], ${ofEach(({ lastBlock }) => lastBlock)}::bigint[],
        ${ofEach(({ lastLogIndex }) => lastLogIndex)}::integer[]
      ) moved(loan_type, loan_id, network, opened_s, agreed_s, ended_s, last_block, last_log_index)
      cross join lateral (
        select ctid from ${loans} each_loan
        where each_loan.loan_type = moved.loan_type and each_loan.loan_id = moved.loan_id limit 1
      ) stored
    where loan.ctid = stored.ctid`.execute(trx)
}

function typeOf(subject: string): string {
  return subject.slice(0, subject.indexOf('/'))
}

function idOf(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}
