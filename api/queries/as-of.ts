import type { AsOf } from '../schemas/as-of.ts'
import type { ReadDatabase, Statement } from './read-database.ts'

/** A moment of the log: the position of its last entry. */
export interface Moment {
  position: number
  /** No later step can change what is answered for the moment. */
  isSettled: boolean
}

/** A moment that the service does not have. */
export interface NoMoment {
  code: 400 | 404
  message: string
}

/** The ids of records per log entry. */
export const IDS_PER_ENTRY = 1_000_000

/**
 * The last position whose entry fits, above `low`: entries fit up to there and none beyond. Positions have no gaps, so a
 * binary search takes one look-up for each doubling of the log.
 */
export const lastThatFits = (low: string, condition: string): string => `
  with recursive search(low, high) as (
    select ${low}, folded_position + 1 from projection.fold_state
    union all
    select case when fits then middle else low end, case when fits then high else middle end
    from search cross join lateral (select (low + high) / 2 as middle) as half
    left join lateral (
      select ${condition} as fits from ledger.event_log as entry where entry.position = half.middle
    ) as entry on true
    where high - low > 1
  )
  select low as position from search where high - low <= 1`

const NOW: Statement = {
  name: 'as-of-now',
  text: 'select folded_position as position from projection.fold_state',
}

/** All entries of a step have the same time, so the position ends a step. */
const TIME: Statement = {
  name: 'as-of-time',
  text: `
    select position, folded_position as folded
    from (${lastThatFits('0::bigint', 'entry.recorded_at <= $1::timestamptz')}) as found, projection.fold_state`,
}

/** A record became visible with the whole step of its entry. */
const RECORD: Statement = {
  name: 'as-of-record',
  text: `
    select position from (
      ${lastThatFits(
        `$1::bigint / ${IDS_PER_ENTRY}`,
        `entry.step <= (select step from ledger.event_log where position = $1::bigint / ${IDS_PER_ENTRY})`,
      )}
    ) as found
    where exists (select from projection.activity where id = $1::bigint)
      or exists (select from projection.activity_past where id = $1::bigint)`,
}

const BLOCK: Statement = {
  name: 'as-of-block',
  text: `
    select number as reached, coalesce(finalized_number >= $2::bigint, false) as final, coalesce((
        select position from ledger.block_positions as noted
        where noted.network = $1::text and noted.number <= $2::bigint order by noted.network desc, noted.number desc limit 1
      ), 0) as position
    from ledger.chain_position where network = $1::text and number is not null`,
}

const NETWORKS: Statement = {
  name: 'as-of-networks',
  text: 'select network from ledger.chain_position where number is not null order by network',
}

/** Finds the moment; without `asOf`, the present one. */
export async function findMoment(database: ReadDatabase, asOf: AsOf | undefined): Promise<Moment | NoMoment> {
  if (asOf === undefined) {
    const [row] = await database.rows<{ position: string }>(NOW)
    return { position: Number(row?.position ?? 0), isSettled: false }
  }
  switch (asOf.type) {
    case 'record':
      return recordMoment(database, asOf.id)
    case 'time': {
      const [row] = await database.rows<{ position: string; folded: string }>(TIME, [asOf.time])
      const position = Number(row?.position ?? 0)
      // An entry may still be recorded with an earlier time than now, unless a later one exists.
      return { position, isSettled: row !== undefined && position < Number(row.folded) }
    }
    case 'block':
      return blockMoment(database, asOf)
  }
}

async function recordMoment(database: ReadDatabase, id: string): Promise<Moment | NoMoment> {
  const [row] = await database.rows<{ position: string }>(RECORD, [id])
  if (row === undefined) return { code: 404, message: `there is no record ${id}` }
  return { position: Number(row.position), isSettled: true }
}

async function blockMoment(
  database: ReadDatabase,
  { network, block }: Extract<AsOf, { type: 'block' }>,
): Promise<Moment | NoMoment> {
  const [row] = await database.rows<{ reached: string; final: boolean; position: string }>(BLOCK, [
    network,
    block,
  ])
  if (row === undefined) {
    const known = await database.rows<{ network: string }>(NETWORKS)
    const names = known.map((one) => one.network).join(', ')
    return { code: 400, message: `the network of asOf must be one of ${names}` }
  }
  if (BigInt(row.reached) < BigInt(block))
    return { code: 404, message: `${network} is indexed up to block ${row.reached}, not ${block}` }
  return { position: Number(row.position), isSettled: row.final }
}

/** The statements, for tests of their plans. */
export const MOMENTS = { time: TIME, record: RECORD, block: BLOCK }
