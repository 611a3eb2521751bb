import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import type { LoanType } from '../../shared/events/chain-event.ts'
import { channelSubject } from '../../shared/events/natural-key.ts'
import { channelAt, loanAt, type ChannelAt, type KeyedEntry, type LoanAt } from '../loan-past/loan-at.ts'
import type { RecordsByKey } from '../loan-past/explain.ts'
import { MOST_LOAN_EVENTS } from '../schemas/activity.ts'
import { withOtherNames } from './account-names.ts'
import { READ_MODEL_STATE, type Indexed } from './answer-cache.ts'
import { IDS_PER_ENTRY } from './as-of.ts'
import type { LoanPage } from './loan-lists.ts'
import { MOST_COUNTED } from './loans.ts'
import type { ReadDatabase, Statement } from './read-database.ts'
import { isoTime, newestOfLoan, newestThatFit } from './record-json.ts'

/** Entries of a loan, or of one of its channels, that are folded at most. They bound an answer's cost and memory. */
interface Most {
  entries: number
  /** Bytes of their events' JSON: a contract's log alone may carry 64 KiB. */
  kibibytes: number
}
const MOST: Most = { entries: 2_000, kibibytes: 2_048 }

/** As above, for each loan of a page. */
const MOST_LISTED: Most = { entries: 200, kibibytes: 64 }

/** Entries of each list that are examined for a page at most. A page can be empty although others follow. */
const MOST_EXAMINED = 2_000

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
  total: string
  recordsByKey: RecordsByKey
  indexed: Indexed
}

/** More entries, or bytes of them, than are folded: this loan has no answer for a past moment. */
export class TooManyEntries extends Error {
  override name = 'TooManyEntries'
}

const ENTRY = `json_build_object('key', network || ' ' || natural_key, 'position', position, 'step', step, 'recordedAt',
  ${isoTime('recorded_at')}, 'network', network, 'blockchain', blockchain, 'op', op, 'origin', origin, 'subject', subject,
  'previousSubject', previous_subject, 'event', body)`

/**
 * All entries, up to the position, of the events that ever were this subject's; null where they have too many bytes. A
 * correction may have given one to another loan. The order over both columns leaves one index; the operations on columns
 * keep others away.
 */
const entriesOf = (subject: string, position: string, { entries: most, kibibytes }: Most): string => `(
  select case when coalesce(max(bytes), 0) <= ${kibibytes * 1024} then
    coalesce(json_agg(${ENTRY} order by position) filter (where bytes <= ${kibibytes * 1024}), '[]') end
  from (
    select few.*, sum(coalesce(octet_length(body::text), 0)) over (order by position) as bytes from (
      select entry.* from (
        select distinct network, natural_key from (
          select network, natural_key from ledger.event_log as own
          where own.subject >= ${subject} and (own.subject, own.position) <= (${subject}, ${position})
          order by own.subject desc, own.position desc limit ${most + 1}
        ) as own
      ) as key cross join lateral (
        select * from ledger.event_log as one
        where one.natural_key = key.natural_key and (one.network || '') = key.network and one.position + 0 <= ${position}
      ) as entry limit ${most + 1}
    ) as few
  ) as entries
)`

/**
 * Columns of a past loan; the arguments are SQL. A loan shows one channel in each role at a time, so the first of its past
 * rows that ended later is the one that was shown, if it had begun.
 */
function pastLoanColumns(type: string, id: string, position: string, most: Most): string {
  const columns = 'network, robust, id, created_at, updated_at, since'
  return `
    ${entriesOf(`(${type} || '/' || ${id})`, position, most)} as entries,
    (
      select json_build_object('position', position, 'state', derived_state, 'at', ${isoTime('recorded_at')})
      from projection.derived_states as derived
      where derived.loan_type = ${type} and derived.loan_id = ${id} and derived.position <= ${position}
      order by derived.loan_type desc, derived.loan_id desc, derived.position desc limit 1
    ) as derived,
    (
      select coalesce(json_agg(json_build_object('role', role.name, 'network', network, 'robust', robust, 'id', shown.id,
        'createdAt', ${isoTime('created_at')}, 'updatedAt', ${isoTime('updated_at')},
        'entries', ${entriesOf(`('channel/' || split_part(shown.network, ':', 2) || '/' || shown.robust)`, position, most)})), '[]')
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

interface PastLoanRow {
  entries: Json<KeyedEntry>[] | null
  derived: { position: number; state: string | null; at: string } | null
  channels: {
    role: ChannelRole
    network: string
    robust: string
    id: number
    createdAt: string
    updatedAt: string
    entries: Json<KeyedEntry>[] | null
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
    select ${pastLoanColumns('$1::text', '$2::text', '$3::bigint', MOST)},
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
    total: string
    recordsByKey: Record<string, number>
    indexed: Indexed
  }
  const [row] = await database.rows<Row>(LOOKUP, [loan.loanType, loan.loanId, position])
  const found = row && toPastLoan(loan, row, MOST)
  if (row === undefined || found === undefined) return undefined
  const { records, total, recordsByKey, indexed } = row
  return { ...found, records, total, recordsByKey: new Map(Object.entries(recordsByKey)), indexed }
}

/** Folds a row; undefined if the loan did not exist then. */
function toPastLoan(
  { loanType, loanId }: { loanType: LoanType; loanId: string },
  { entries, derived, channels }: PastLoanRow,
  most: Most,
): PastLoan | undefined {
  const folded = loanAt(`${loanType}/${loanId}`, toEntries(entries, most))
  if (folded === undefined) return undefined
  // A reorg can remove a loan and bring it back: what was derived before is not of this life.
  const own = derived !== null && derived.position >= folded.id ? derived : null
  const changedAt = own === null ? folded.updatedAt : new Date(own.at)
  const updatedAt = changedAt > folded.updatedAt ? changedAt : folded.updatedAt
  return {
    at: { ...folded, updatedAt },
    derivedState: own?.state ?? null,
    channels: channels.map(({ robust, network, ...one }): ChannelAt => {
      const found = channelAt(channelSubject(network, robust), toEntries(one.entries, most))
      if (found === undefined) throw new Error(`the log has no creation of channel ${robust}`)
      const times = { createdAt: new Date(one.createdAt), updatedAt: new Date(one.updatedAt) }
      return { role: one.role, network, id: one.id, ...times, ...found }
    }),
  }
}

function toEntries(entries: Json<KeyedEntry>[] | null, most: Most): KeyedEntry[] {
  if (entries === null) throw new TooManyEntries(`more than ${most.kibibytes} KiB of entries`)
  if (entries.length > most.entries) throw new TooManyEntries(`more than ${most.entries} entries`)
  return entries.map((entry) => ({ ...entry, recordedAt: new Date(entry.recordedAt) }))
}

/** A page of loans as of a position of the log, the newest first. */
export interface PastPage {
  loans: PastLoan[]
  /** Whether loans are left that fit, or were not examined, below the id `rest`. */
  rest: number | null
  indexed: Indexed
}

/** The newest entries of a list, current (`loan_lists`) or past, without regard to the moment: their number is bounded. */
const examined = (table: 'loan_lists' | 'loan_lists_past', until: string): string => `
  select one.id, one.since, ${until} as until, min(one.id) over () as lowest, count(*) over () as examined from (
    select * from projection.${table} as entry where entry.list = wanted.list and entry.id < asked.before
    order by entry.list desc, entry.id desc limit ${MOST_EXAMINED}
  ) as one`

/**
 * Loans have rising ids, the positions of their first entries, so none above the position existed. Below the highest id
 * at which a list was not examined further (`floor`), nothing is known.
 */
const PAGE: Statement = {
  name: 'loans-past',
  text: `
    with asked as materialized (
      select least(coalesce($2::bigint, $4::bigint + 1), $4::bigint + 1) as before
    ), wanted as materialized (${withOtherNames('$1::text[]')}),
    examined as materialized (
      select entry.* from asked cross join wanted cross join lateral (
        ${examined('loan_lists', 'null::bigint')} union all ${examined('loan_lists_past', 'one.until')}
      ) as entry
    ), bound as materialized (
      select coalesce(max(lowest) filter (where examined = ${MOST_EXAMINED}), 0) as floor from examined
    ), listed as materialized (
      select distinct id from examined, bound
      where id > floor and since <= $4::bigint and (until is null or until > $4::bigint)
      order by id desc limit $3::bigint + 1
    )
    select loan.*, floor, (select count(*) from listed) as listed, ${READ_MODEL_STATE}
    from bound left join lateral (
      select one.id, made.loan_type, made.loan_id, ${pastLoanColumns('made.loan_type', 'made.loan_id', '$4::bigint', MOST_LISTED)}
      from (select id from listed order by id desc limit $3::bigint) as one cross join lateral (
        select split_part(subject, '/', 1) as loan_type, split_part(subject, '/', 2) as loan_id
        from ledger.event_log where position = one.id
      ) as made
    ) as loan on true order by loan.id desc`,
}

/**
 * Reads a page of the loans that were in any of these lists. A loan with too many entries is left out, because one
 * party must not spoil a list for all.
 */
export async function findPastPage(
  database: ReadDatabase,
  { lists, before, limit }: LoanPage,
  position: number,
): Promise<PastPage> {
  interface Row extends PastLoanRow {
    id: string | null
    loan_type: LoanType
    loan_id: string
    floor: string
    listed: string
    indexed: Indexed
  }
  const rows = await database.rows<Row>(PAGE, [lists, before ?? null, limit, position])
  const [first] = rows
  if (first === undefined) throw new Error('a page of past loans has no row')
  const found = rows.filter(({ id }) => id !== null)
  const floor = Number(first.floor)
  const isMore = Number(first.listed) > found.length
  const lowest = Number(found.at(-1)?.id ?? '0')
  return {
    loans: found.flatMap((row) => toListed(row) ?? []),
    rest: isMore ? lowest : floor > 0 ? floor + 1 : null,
    indexed: first.indexed,
  }
}

function toListed(row: PastLoanRow & { loan_type: LoanType; loan_id: string }): PastLoan | undefined {
  try {
    return toPastLoan({ loanType: row.loan_type, loanId: row.loan_id }, row, MOST_LISTED)
  } catch (error) {
    if (error instanceof TooManyEntries) return undefined
    throw error
  }
}

/** Both statements, for tests of their plans. */
export const LOANS_PAST = { lookup: LOOKUP, page: PAGE }
