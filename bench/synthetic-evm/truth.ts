import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import { isEvmLoanEvent, LOAN_TYPE_OF_ROLE, type ChainEvent } from '../../shared/events/chain-event.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { IDS_PER_ENTRY } from '../../indexer/projections/projection.ts'
import { compareLists, differ } from '../compare.ts'
import { expectedPart } from './expected-loans.ts'
import { CHAIN_ID, SyntheticChain, type ChainShape } from './synthetic-chain.ts'

/** The content that an index of a synthetic chain must hold, made from its seed and not from any answer. */
export interface Truth {
  chain: SyntheticChain
  /** Ordered like the chain. */
  events: ChainEvent[]
  log: ToldEntry[]
  /** An event for each record, in the order of the records' ids. */
  history: ChainEvent[]
  /** Canonical JSON of the lookup's part, by `<loan type>/<loan id>`. */
  loans: Map<string, string>
}

export interface ReorgTruth extends Truth {
  /** The history of the branch that the node left. */
  before: ChainEvent[]
}

/** An entry of the log; a retraction has no event of its own. */
interface ToldEntry {
  op: 'append' | 'replace' | 'retract'
  key: string
  event: ChainEvent | null
}

export function makeTruth(shape: ChainShape, seed?: number): Truth {
  const chain = new SyntheticChain(shape, seed)
  const events = eventsOf(chain)
  return { chain, events, log: entriesOf('append', events), history: events, loans: loansOf(chain) }
}

/**
 * Makes the truth of an index that followed the node in one step from block `head` of the main branch to the other
 * branch. The branches share the blocks up to `forkAfter`.
 */
export function makeReorgTruth(
  shape: ChainShape,
  { forkAfter, head }: { forkAfter: number; head: number },
  seed?: number,
): ReorgTruth {
  const chain = new SyntheticChain(shape, seed, forkAfter)
  const events = eventsOf(chain)
  const before = eventsOf(new SyntheticChain(shape, seed)).filter(({ blockNumber }) => blockNumber <= head)
  const [was, is] = [before, events].map((list) => new Map(list.map((event) => [naturalKey(event), event])))
  const gone = before.filter((event) => is?.has(naturalKey(event)) !== true)
  const isNew = (event: ChainEvent): boolean => was?.has(naturalKey(event)) !== true
  const branch = events.filter(({ blockNumber }) => blockNumber > forkAfter)
  const log = [
    ...entriesOf('append', before),
    ...entriesOf('retract', gone.toReversed()),
    ...branch.flatMap((event) => entriesOf(isNew(event) ? 'append' : 'replace', [event])),
  ]
  // Events in both branches keep their place and take the new branch's content.
  const stayed = before.flatMap((event) => is?.get(naturalKey(event)) ?? [])
  const history = [...stayed, ...branch.filter(isNew)]
  return { chain, events, log, history, loans: loansOf(chain), before }
}

function entriesOf(op: ToldEntry['op'], events: readonly ChainEvent[]): ToldEntry[] {
  return events.map((event) => ({ op, key: naturalKey(event), event: op === 'retract' ? null : event }))
}

function eventsOf(chain: SyntheticChain): ChainEvent[] {
  return [...chain.blocks()].flatMap(({ events }) => events)
}

/** Returns the loans after this block of a chain whose blocks were not made yet. */
export function loansAt(chain: SyntheticChain, block: number): Truth['loans'] {
  for (const { number } of chain.blocks()) {
    if (number >= block) break
  }
  return loansOf(chain)
}

function loansOf(chain: SyntheticChain): Map<string, string> {
  return new Map(
    [...chain.loans.values()].map((loan) => [
      `${LOAN_TYPE_OF_ROLE[loan.role]}/${loan.id}`,
      canonicalJson(expectedPart(loan, chain.parties)),
    ]),
  )
}

const CHUNK = 5_000
const NOTHING: Held = { position: 0, records: 0 }

/** Compares log, history and loans with the truth, entry by entry; throws at the first difference. */
export async function compareWithTruth(db: Db, truth: Truth): Promise<void> {
  await compareLog(db, truth.log)
  await compareHistory(db, truth.history)
  await compareLoans(db, truth.loans)
}

/** Content that existed before. */
export interface Held {
  /** The log's last position. */
  position: number
  records: number
}

/** Compares only the entries and records after `held`; loans are left out. */
export async function compareTailWithTruth(db: Db, truth: Truth, held: Held): Promise<void> {
  await compareLog(db, truth.log, held)
  await compareHistory(db, truth.history, held)
}

/** One network of several. */
export interface NetworkName {
  chainId: number
  idPrefix: string
}

/**
 * Acts as {@link compareWithTruth} for one network among several. No truth covers the order of their records among each
 * other.
 */
export async function compareNetworkWithTruth(
  db: Db,
  { log, history, loans }: Truth,
  { chainId, idPrefix }: NetworkName,
): Promise<void> {
  const network = `evm:${chainId}`
  const named = (event: ChainEvent): ChainEvent =>
    isEvmLoanEvent(event) ? { ...event, loanId: `${idPrefix}-${event.loanId}` } : event
  const entries = await sql<{ op: string; key: string; body: ChainEvent | null }>`
    select op, natural_key as key, body from ledger.event_log where network = ${network} order by position`.execute(
    db,
  )
  compareLists(
    `entries of ${network}`,
    entries.rows.map(({ op, key, body }) => `${op} ${key} ${canonicalJson(body)}`),
    log.map(({ op, key, event }) => `${op} ${key} ${canonicalJson(event === null ? null : named(event))}`),
  )
  const records = await sql<{ said: string }>`
    select concat_ws(' ', tx_hash, event, loan_type, loan_id) as said
    from projection.activity record join projection.record_kinds kind on kind.id = record.kind
    where network_id = ${String(chainId)} order by record.id`.execute(db)
  compareLists(
    `records of ${network}`,
    records.rows.map(({ said }) => said),
    history.map((event) => recordText(named(event))),
  )
  const parts = await sql<{ subject: string; part: Record<string, unknown> }>`
    select loan_type || '/' || loan_id as subject, evm_part as part from projection.loans
    where network = ${network}`.execute(db)
  differ(`loans of ${network}`, parts.rows.length, loans.size)
  for (const { subject, part } of parts.rows) {
    differ(subject, part['networkId'], String(chainId))
    const told = loans.get(subject.replace(`/${idPrefix}-`, '/'))
    differ(subject, canonicalJson({ ...part, networkId: String(CHAIN_ID) }), told)
  }
}

/** Returns the share of read blocks whose answers were checked; the others were trusted. */
export async function shareChecked(db: Db): Promise<number> {
  const { rows } = await sql<{ share: number }>`
    select (sum(to_number - from_number + 1) filter (where not 'one' = any(checks))
      / sum(to_number - from_number + 1))::float8 as share from ledger.ranges_read`.execute(db)
  return rows[0]?.share ?? 0
}

async function compareLog(db: Db, log: readonly ToldEntry[], held = NOTHING): Promise<void> {
  for (let from = 0; from <= log.length; from += CHUNK) {
    const { rows } = await sql<{ op: string; key: string; body: ChainEvent | null }>`
      select op, natural_key as key, body from ledger.event_log
      where position > ${held.position + from}::bigint order by position limit ${CHUNK}`.execute(db)
    const expected = log.slice(from, from + CHUNK)
    differ('entries of the log', rows.length, expected.length)
    for (const [index, { op, key, body }] of rows.entries()) {
      const told = expected[index]
      const said = `${told?.op ?? ''} ${told?.key ?? ''} ${canonicalJson(told?.event)}`
      differ(`entry ${from + index + 1}`, `${op} ${key} ${canonicalJson(body)}`, said)
    }
  }
}

async function compareHistory(db: Db, events: readonly ChainEvent[], held = NOTHING): Promise<void> {
  const { rows } = await sql<{ position: number; said: string }>`
    select top.before + middle.before + stretch.before + slot as position,
      concat_ws(' ', tx_hash, event, loan_type, loan_id) as said
    from projection.activity record join projection.record_kinds kind on kind.id = record.kind
    join projection.activity_counts stretch on stretch.level = 0 and stretch.number = record.stretch
    join projection.activity_counts middle on middle.level = 1 and middle.number = stretch.parent
    join projection.activity_counts top on top.level = 2 and top.number = middle.parent
    where record.id >= ${(held.position + 1) * IDS_PER_ENTRY}::bigint order by record.id`.execute(db)
  differ('records', rows.length, events.length)
  for (const [index, { position, said }] of rows.entries()) {
    const event = events[index]
    const expected = event === undefined ? 'nothing' : recordText(event)
    differ(`record ${index + 1}`, `${position} ${said}`, `${held.records + index + 1} ${expected}`)
  }
}

/** Returns a record's facts for an event: transaction, event, type and id of the loan. */
export function recordText(event: ChainEvent): string {
  if (!isEvmLoanEvent(event)) throw new Error('the truth has no such event')
  return `${event.txHash} ${event.kind} ${LOAN_TYPE_OF_ROLE[event.role]} ${event.loanId}`
}

async function compareLoans(db: Db, expected: ReadonlyMap<string, string>): Promise<void> {
  const { rows } = await sql<{ subject: string; part: unknown }>`
    select loan_type || '/' || loan_id as subject, evm_part as part from projection.loans`.execute(db)
  differ('loans', rows.length, expected.size)
  for (const { subject, part } of rows) differ(subject, canonicalJson(part), expected.get(subject))
}
