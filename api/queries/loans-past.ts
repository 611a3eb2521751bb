import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { channelSubject } from '../../shared/events/natural-key.ts'
import { channelAt, loanAt, type ChannelAt, type KeyedEntry, type LoanAt } from '../loan-past/loan-at.ts'
import type { RecordsByKey } from '../loan-past/explain.ts'
import { MOST_LOAN_EVENTS } from '../schemas/activity.ts'
import { READ_MODEL_STATE, type Indexed } from './answer-cache.ts'
import { IDS_PER_ENTRY } from './as-of.ts'
import { MOST_COUNTED } from './loans.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, newestOfLoan, newestThatFit } from './record-json.ts'

/** Entries of a loan, or of one of its channels, that are folded at most; their number bounds the cost of an answer. */
const MOST_ENTRIES = 2_000

/** A loan as the service knew it, with the channels that its lookup showed. */
export interface PastLoan {
  at: LoanAt
  /** Shown instead of the contract's own state; null for that. */
  derivedState: string | null
  channels: ChannelAt[]
}

export interface PastLookup extends PastLoan {
  /** JSON of the newest records, oldest first, without brackets. */
  records: string
  /** Number of the loan's records. */
  total: number
  recordsByKey: RecordsByKey
  indexed: Indexed
}

/** More entries than are folded: this loan has no answer for a past moment. */
export class TooManyEntries extends Error {
  override name = 'TooManyEntries'
}

const ENTRY = `json_build_object('key', network || ' ' || natural_key, 'position', position, 'step', step, 'recordedAt',
  ${isoTime('recorded_at')}, 'network', network, 'blockchain', blockchain, 'op', op, 'origin', origin, 'subject', subject,
  'previousSubject', previous_subject, 'event', body)`

/**
 * All entries, up to the position, of the events that ever were this subject's. A correction may have given one to
 * another loan. The order over both columns leaves one index; the operations on columns keep others away.
 */
const entriesOf = (subject: string, position: string): string => `(
  select coalesce(json_agg(${ENTRY} order by position), '[]') from (
    select entry.* from (
      select distinct network, natural_key from (
        select network, natural_key from ledger.event_log as own
        where own.subject >= ${subject} and (own.subject, own.position) <= (${subject}, ${position})
        order by own.subject desc, own.position desc limit ${MOST_ENTRIES + 1}
      ) as own
    ) as key cross join lateral (
      select * from ledger.event_log as one
      where one.natural_key = key.natural_key and (one.network || '') = key.network and one.position + 0 <= ${position}
    ) as entry limit ${MOST_ENTRIES + 1}
  ) as entries
)`

/**
 * Columns of a past loan; the arguments are SQL. A loan shows one channel in each role at a time, so the first of its past
 * rows that ended later is the one that was shown, if it had begun.
 */
export function pastLoanColumns(type: string, id: string, position: string): string {
  const columns = 'network, robust, id, created_at, updated_at, since'
  return `
    ${entriesOf(`(${type} || '/' || ${id})`, position)} as entries,
    (
      select json_build_object('position', position, 'state', derived_state, 'at', ${isoTime('recorded_at')})
      from projection.derived_states as derived
      where derived.loan_type = ${type} and derived.loan_id = ${id} and derived.position <= ${position}
      order by derived.loan_type desc, derived.loan_id desc, derived.position desc limit 1
    ) as derived,
    (
      select coalesce(json_agg(json_build_object('role', role.name, 'network', network, 'robust', robust, 'id', shown.id,
        'createdAt', ${isoTime('created_at')}, 'updatedAt', ${isoTime('updated_at')},
        'entries', ${entriesOf(`('channel/' || split_part(shown.network, ':', 2) || '/' || shown.robust)`, position)})), '[]')
      from unnest(array['collateral', 'principal', 'payback']) as role(name) cross join lateral (
        select * from (
          select ${columns} from projection.channels as now
          where now.loan_type = ${type} and now.loan_id = ${id} and now.role = role.name and now.shown
          union all
          select * from (
            select ${columns} from projection.channels_past as past
            where past.loan_type = ${type} and past.loan_id = ${id} and past.role = role.name and past.until > ${position}
            order by past.until limit 1
          ) as past
        ) as one where one.since <= ${position}
      ) as shown
    ) as channels`
}

export interface PastLoanRow {
  entries: Json<KeyedEntry>[]
  derived: { position: number; state: string | null; at: string } | null
  channels: {
    role: ChannelRole
    network: string
    robust: string
    id: number
    createdAt: string
    updatedAt: string
    entries: Json<KeyedEntry>[]
  }[]
}

/** In JSON, a time is a text. */
type Json<Entry> = Entry extends unknown ? Omit<Entry, 'recordedAt'> & { recordedAt: string } : never

/** Whether a record's row of activity held at the position: no past row of it ended later. */
const HELD = `not exists (select from projection.activity_past as past where past.id = activity.id and past.until > $3::bigint)`
const PAST = `projection.activity_past where loan_id = $2::text and kind in (select id from kinds)
  and since <= $3::bigint and until > $3::bigint`
const BEFORE = `(($3::bigint + 1) * ${IDS_PER_ENTRY})`
const RECORD_COLUMNS = 'id, kind, tx_hash, loan_id, natural_key, created_at, updated_at'

const LOOKUP: Statement = {
  name: 'loan-past',
  text: `
    with kinds as materialized (select id from projection.record_kinds where loan_type = $1::text),
    found as materialized (
      select ${RECORD_COLUMNS} from (
        ${newestOfLoan({ loan: '$2::text', before: BEFORE, limit: `${MOST_LOAN_EVENTS + 1}`, also: HELD })}
      ) as held
      union all
      select ${RECORD_COLUMNS} from (select * from ${PAST} order by id desc limit ${MOST_LOAN_EVENTS + 1}) as past
    ), shown as materialized (${newestThatFit(`select * from found order by id desc limit ${MOST_LOAN_EVENTS}`)}),
    total as (
      select case when count(*) <= ${MOST_LOAN_EVENTS} then count(*) else (
        select count(*) from (
          select from kinds join projection.activity on activity.kind = kinds.id
          where activity.loan_id = $2::text and activity.id < ${BEFORE} and ${HELD} limit ${MOST_COUNTED}
        ) as counted
      ) + (select count(*) from (select from ${PAST} limit ${MOST_COUNTED}) as past) end as records from found
    )
    select ${pastLoanColumns('$1::text', '$2::text', '$3::bigint')},
      (select coalesce(string_agg(json, ',' order by id), '') from shown) as records, (select records from total) as total,
      (
        select coalesce(json_object_agg(natural_key, id), '{}') from found where natural_key is not null
      ) as "recordsByKey", ${READ_MODEL_STATE}`,
}

/** Reads a loan as of a position of the log. Undefined if it did not exist. Throws {@link TooManyEntries}. */
export async function findPastLoan(
  database: ReadDatabase,
  loan: { loanType: LoanType; loanId: string },
  position: number,
): Promise<PastLookup | undefined> {
  interface Row extends PastLoanRow {
    records: string
    total: number
    recordsByKey: Record<string, number>
    indexed: Indexed
  }
  const [row] = await database.rows<Row>(LOOKUP, [loan.loanType, loan.loanId, position])
  const found = row && toPastLoan(loan, row)
  if (row === undefined || found === undefined) return undefined
  const { records, total, recordsByKey, indexed } = row
  return { ...found, records, total, recordsByKey: new Map(Object.entries(recordsByKey)), indexed }
}

/** Folds a row; undefined if the loan did not exist then. */
export function toPastLoan(
  { loanType, loanId }: { loanType: LoanType; loanId: string },
  { entries, derived, channels }: PastLoanRow,
): PastLoan | undefined {
  const folded = loanAt(`${loanType}/${loanId}`, toEntries(entries))
  if (folded === undefined) return undefined
  // A reorg can remove a loan and bring it back: what was derived before is not of this life.
  const own = derived !== null && derived.position >= folded.id ? derived : null
  const changedAt = own === null ? folded.updatedAt : new Date(own.at)
  const updatedAt = changedAt > folded.updatedAt ? changedAt : folded.updatedAt
  return {
    at: { ...folded, updatedAt },
    derivedState: own?.state ?? null,
    channels: channels.map(({ robust, network, ...one }): ChannelAt => {
      const found = channelAt(channelSubject(network, robust), toEntries(one.entries))
      if (found === undefined) throw new Error(`the log has no creation of channel ${robust}`)
      const times = { createdAt: new Date(one.createdAt), updatedAt: new Date(one.updatedAt) }
      return { role: one.role, network, id: one.id, ...times, ...found }
    }),
  }
}

function toEntries(entries: Json<KeyedEntry>[]): KeyedEntry[] {
  if (entries.length > MOST_ENTRIES) throw new TooManyEntries(`more than ${MOST_ENTRIES} entries`)
  return entries.map((entry) => ({ ...entry, recordedAt: new Date(entry.recordedAt) }))
}

/** The statement, for tests of its plan. */
export const LOANS_PAST = { lookup: LOOKUP }
