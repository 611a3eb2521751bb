import { sql } from 'kysely'
import type { FoldContext } from '../projection.ts'
import type { DayCount } from './daily.evolve.ts'

/** A loan adds this to the days, before and after a segment. */
export interface DaysChange {
  before: DayCount[]
  after: DayCount[]
}

const KEY = ['loan_type', 'network_id', 'token'] as const

/**
 * Adds the differences to the daily figures. A day without a loan has no row, so that a replay gives the same rows
 * after a reorg. Plain SQL: sums of exact decimals, and each key's days in order.
 */
export async function putDays({ trx, schema }: FoldContext, changes: DaysChange[]): Promise<void> {
  const changed = changes.filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))
  const counts = [
    ...changed.flatMap(({ before }) => before.map((count) => ({ ...count, sign: -1 }))),
    ...changed.flatMap(({ after }) => after.map((count) => ({ ...count, sign: 1 }))),
  ]
  if (counts.length === 0) return
  const daily = sql.table(`${schema}.daily`)
  const of = <K extends keyof (typeof counts)[number]>(name: K) => counts.map((count) => count[name])
  const same = (a: string, b: string) =>
    sql.raw(KEY.map((name) => `${a}.${name} = ${b}.${name}`).join(' and '))
  const delta = sql`(
    select loan_type, network_id, token, day, sum(sign * opened) as opened, sum(sign * closed) as closed,
      sum(sign * seized) as seized, sum(sign * cancelled) as cancelled,
      sum(sign * coalesce(principal, 0)) as principal,
      sum(sign * opened) filter (where principal is null) as unknown
    from unnest(${of('loanType')}::text[], ${of('networkId')}::text[], ${of('token')}::text[], ${of('day')}::bigint[],
      ${of('opened')}::bigint[], ${of('closed')}::bigint[], ${of('seized')}::bigint[], ${of('cancelled')}::bigint[],
      ${of('principal')}::numeric[], ${of('sign')}::bigint[])
      as given(loan_type, network_id, token, day, opened, closed, seized, cancelled, principal, sign)
    group by loan_type, network_id, token, day
  )`
  // A new day begins with the loans that were open at the end of the one before.
  await sql`
    insert into ${daily} (loan_type, network_id, token, day, open)
    select loan_type, network_id, token, day, coalesce((
      select open from ${daily} as earlier where ${same('earlier', 'delta')} and earlier.day < delta.day
      order by loan_type desc, network_id desc, token desc, day desc limit 1
    ), 0)
    from ${delta} as delta on conflict do nothing`.execute(trx)
  await sql`
    update ${daily} as own set opened = own.opened + changed.opened, closed = own.closed + changed.closed,
      seized = own.seized + changed.seized, cancelled = own.cancelled + changed.cancelled,
      principal = trim_scale(own.principal + changed.principal), unknown = own.unknown + changed.unknown,
      open = own.open + changed.open
    from (
      select one.loan_type, one.network_id, one.token, one.day,
        ${sql.join(
          ['opened', 'closed', 'seized', 'cancelled', 'principal', 'unknown'].map(
            (name) => sql`
          coalesce(sum(delta.${sql.ref(name)}) filter (where delta.day = one.day), 0) as ${sql.ref(name)}`,
          ),
        )},
        sum(delta.opened - delta.closed - delta.seized - delta.cancelled) as open
      from ${delta} as delta cross join lateral (
        select * from ${daily} as later where ${same('later', 'delta')} and later.day >= delta.day
      ) as one
      group by one.loan_type, one.network_id, one.token, one.day
    ) as changed
    where ${same('own', 'changed')} and own.day = changed.day`.execute(trx)
  await sql`
    delete from ${daily} as own using ${delta} as delta
    where ${same('own', 'delta')} and own.day = delta.day
      and (own.opened, own.closed, own.seized, own.cancelled) = (0, 0, 0, 0)`.execute(trx)
}
