import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type ChainEvent } from '../../shared/events/chain-event.ts'
import { canonicalJson } from '../../indexer/event-log/plan-entries.evolve.ts'
import { expectedPart } from './expected-loans.ts'
import { SyntheticChain, type ChainShape } from './synthetic-chain.ts'

/** What an index of a synthetic chain must hold, made from its seed and not from any answer. */
export interface Truth {
  chain: SyntheticChain
  events: ChainEvent[]
  /** By `<loan type>/<loan id>`: canonical JSON of the lookup's part. */
  loans: Map<string, string>
}

export function makeTruth(shape: ChainShape, seed?: number): Truth {
  const chain = new SyntheticChain(shape, seed)
  const events: ChainEvent[] = []
  for (const block of chain.blocks()) events.push(...block.events)
  const loans = [...chain.loans.values()].map((loan): [string, string] => [
    `${LOAN_TYPE_OF_ROLE[loan.role]}/${loan.id}`,
    canonicalJson(expectedPart(loan, chain.parties)),
  ])
  return { chain, events, loans: new Map(loans) }
}

const CHUNK = 5_000

/** Compares log, history and loans with the truth, entry by entry; throws at the first difference. */
export async function compareWithTruth(db: Db, truth: Truth): Promise<void> {
  await compareLog(db, truth.events)
  await compareHistory(db, truth.events)
  await compareLoans(db, truth.loans)
}

/** Of the blocks that were read, the share whose answers were checked; the rest was believed. */
export async function shareChecked(db: Db): Promise<number> {
  const { rows } = await sql<{ share: number }>`
    select (sum(to_number - from_number + 1) filter (where not 'unchecked' = any(checks))
      / sum(to_number - from_number + 1))::float8 as share from ledger.ranges_read`.execute(db)
  return rows[0]?.share ?? 0
}

async function compareLog(db: Db, events: readonly ChainEvent[]): Promise<void> {
  for (let from = 0; from <= events.length; from += CHUNK) {
    const { rows } = await sql<{ op: string; body: ChainEvent }>`
      select op, body from ledger.event_log where position > ${from} order by position limit ${CHUNK}`.execute(
      db,
    )
    const expected = events.slice(from, from + CHUNK)
    differ('entries of the log', rows.length, expected.length)
    for (const [index, row] of rows.entries()) {
      differ(
        `entry ${from + index + 1}`,
        `${row.op} ${canonicalJson(row.body)}`,
        `append ${canonicalJson(expected[index])}`,
      )
    }
  }
}

async function compareHistory(db: Db, events: readonly ChainEvent[]): Promise<void> {
  const { rows } = await sql<{ position: number; said: string }>`
    select counted.before + slot as position, concat_ws(' ', tx_hash, event, loan_type, loan_id) as said
    from projection.activity
    join projection.activity_counts counted on counted.level = 0 and counted.number = stretch
    order by id`.execute(db)
  differ('records', rows.length, events.length)
  for (const [index, { position, said }] of rows.entries()) {
    const event = events[index]
    if (event === undefined || !isEvmLoanEvent(event)) throw new Error('the truth has no such event')
    const expected = `${event.txHash} ${event.kind} ${LOAN_TYPE_OF_ROLE[event.role]} ${event.loanId}`
    differ(`record ${index + 1}`, `${position} ${said}`, `${index + 1} ${expected}`)
  }
}

async function compareLoans(db: Db, expected: ReadonlyMap<string, string>): Promise<void> {
  const { rows } = await sql<{ subject: string; part: unknown }>`
    select loan_type || '/' || loan_id as subject, evm_part as part from projection.loans`.execute(db)
  differ('loans', rows.length, expected.size)
  for (const { subject, part } of rows) differ(subject, canonicalJson(part), expected.get(subject))
}

function differ(what: string, found: unknown, expected: unknown): void {
  if (found === expected) return
  throw new Error(`${what} is not the truth: no figure
found    ${String(found)}
expected ${String(expected)}`)
}
