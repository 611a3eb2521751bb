import { sql, type Selectable } from 'kysely'
import { copyRows } from '../../../shared/db/copy-rows.ts'
import type { ChannelsTable } from '../../../shared/db/schema.ts'
import { isOneOf } from '../../../shared/db/unnest.ts'
import { upsertRows } from '../../../shared/db/upsert-rows.ts'
import { LOAN_KEY, loanKeyOf } from '../loans/loan-key.ts'
import { canonicalAddress } from '../../../shared/filecoin/address.ts'
import type { FoldContext } from '../projection.ts'
import type { ChannelRole, Link, Strength } from '../links/link.evolve.ts'
import type { ChannelPart } from '../../../shared/channels/channel-parts.evolve.ts'
import { namesOf, type Channel } from '../../../shared/channels/channel.evolve.ts'

/** A channel as stored in the read model. */
export interface StoredChannel {
  network: string
  robust: string
  id: number
  channel: Channel
  link: Link | null
  claimants: string[]
  shown: boolean
  part: ChannelPart | null
  createdAt: Date
  updatedAt: Date
  /** The position from which lookups show it so, or do not show it. */
  since: number
}

export interface ChannelKey {
  network: string
  robust: string
}

const KEY = { network: 'text', robust: 'text' } as const

export async function getChannels(
  { trx, schema }: FoldContext,
  keys: ChannelKey[],
): Promise<StoredChannel[]> {
  if (keys.length === 0) return []
  const rows = await trx
    .withSchema(schema)
    .selectFrom('channels')
    .where(isOneOf(KEY, keys.map(toKey)))
    .selectAll()
    .execute()
  return rows.map(toStored)
}

/**
 * The channels whose link may change along with these loans (subjects). They are linked to one, have a noted claim, or
 * match by address, hash, party or contract id.
 */
export async function getChannelsTouchedBy(
  { trx, schema }: FoldContext,
  subjects: string[],
  toleranceS: number,
): Promise<StoredChannel[]> {
  if (subjects.length === 0) return []
  const channels = sql.table(`${schema}.channels`)
  const keys = subjects.map(loanKeyOf)
  const types = keys.map(({ loan_type: type }) => type)
  const ids = keys.map(({ loan_id: id }) => id)
  // Plain SQL: the builder needs about ten lines for each of these five ways to a loan.
  const { rows } = await sql<Selectable<ChannelsTable>>`
    with loan as (
      select loan.* from ${sql.table(`${schema}.loans`)} loan
      join unnest(${types}::text[], ${ids}::text[]) touched(loan_type, loan_id) using (loan_type, loan_id)
    ), touched as (
      select network, robust from ${channels} where claimants && ${subjects}::text[]
      union
      select channel.network, channel.robust from loan join ${channels} channel
        on channel.addresses && array[loan.named_channel]
      union
      select channel.network, channel.robust from loan join ${channels} channel
        on channel.secret_hashes && array[loan.secret_hash_a1, loan.secret_hash_b1]
      union
      select channel.network, channel.robust from loan join ${channels} channel
        on channel.parties && array[loan.fil_borrower, loan.fil_lender]
        and channel.created_s >= loan.opened_s - ${toleranceS}::bigint
        and (loan.ended_s is null or channel.created_s < loan.ended_s + ${toleranceS}::bigint)
      union
      select channel.network, channel.robust from loan join ${channels} channel
        on channel.stated_loans && array[loan.contract_loan_id]
    )
    select channel.* from touched join ${channels} channel using (network, robust)`.execute(trx)
  return rows.map(toStored)
}

/** The names of a stored channel; `addresses` are in canonical form. */
export interface StoredNames extends ChannelKey {
  addresses: string[]
  from: Channel['from']
  recipient: Channel['recipient']
}

/** The channels at any of these canonical addresses. */
export async function getChannelsNamed(
  { trx, schema }: FoldContext,
  addresses: string[],
): Promise<StoredNames[]> {
  if (addresses.length === 0) return []
  return trx
    .withSchema(schema)
    .selectFrom('channels')
    .select(['network', 'robust', 'addresses'])
    .select([
      sql<Channel['from']>`state->'from'`.as('from'),
      sql<Channel['recipient']>`state->'recipient'`.as('recipient'),
    ])
    .where('addresses', '&&', sql<string[]>`${addresses}::text[]`)
    .execute()
}

/** The channels linked to these loans (subjects) now. */
export async function getChannelsOf(
  { trx, schema }: FoldContext,
  subjects: string[],
): Promise<StoredChannel[]> {
  if (subjects.length === 0) return []
  const rows = await trx
    .withSchema(schema)
    .selectFrom('channels')
    .where(isOneOf(LOAN_KEY, subjects.map(loanKeyOf)))
    .selectAll()
    .execute()
  return rows.map(toStored)
}

/** Keeps how lookups showed these stored channels until now. */
export function keepPastChannels(
  { trx, schema, position }: FoldContext,
  channels: StoredChannel[],
): Promise<void> {
  const rows = channels.flatMap(({ link, shown, ...stored }) =>
    link === null || !shown
      ? []
      : [
          {
            ...{ network: stored.network, robust: stored.robust, since: stored.since, until: position },
            ...{ id: stored.id, loan_type: link.loanType, loan_id: link.loanId, role: link.role },
            ...{ created_at: stored.createdAt, updated_at: stored.updatedAt },
          },
        ],
  )
  return copyRows(trx, `${schema}.channels_past`, rows)
}

/** Deletes channels whose creation was retracted. */
export async function deleteChannels(context: FoldContext, channels: StoredChannel[]): Promise<void> {
  if (channels.length === 0) return
  await keepPastChannels(context, channels)
  const { trx, schema } = context
  await trx
    .withSchema(schema)
    .deleteFrom('channels')
    .where(isOneOf(KEY, channels.map(toKey)))
    .execute()
}

/** Hides the changed channels first: a unique index allows one shown channel per loan and role. */
export async function putChannels(context: FoldContext, channels: StoredChannel[]): Promise<void> {
  if (channels.length === 0) return
  await hide(context, channels)
  const { trx, schema } = context
  const rows = channels.map(({ channel, link, ...stored }) => ({
    network: stored.network,
    robust: stored.robust,
    id: stored.id,
    state: channel,
    addresses: addressesOf(channel),
    parties: [...new Set([...namesOf(channel.from), ...namesOf(channel.recipient)])],
    secret_hashes: [...new Set(channel.vouchers.flatMap(({ facts }) => facts.secretHash ?? []))],
    stated_loans: channel.statements.map(({ contractLoanId }) => contractLoanId),
    created_s: channel.createdTimeS,
    loan_type: link?.loanType ?? null,
    loan_id: link?.loanId ?? null,
    role: link?.role ?? null,
    strength: link?.strength ?? null,
    claimants: stored.claimants,
    shown: stored.shown,
    part: stored.part ?? undefined,
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
    since: stored.since,
  }))
  await upsertRows(trx, `${schema}.channels`, { key: Object.keys(KEY), kept: ['id', 'created_at'] }, rows)
}

/** A channel's own addresses in canonical form. */
export function addressesOf({ robust, channelId }: Channel): string[] {
  return [robust, channelId].flatMap((address) => canonicalAddress(address) ?? [])
}

async function hide({ trx, schema }: FoldContext, channels: ChannelKey[]): Promise<void> {
  await trx
    .withSchema(schema)
    .updateTable('channels')
    .set({ shown: false })
    .where(isOneOf(KEY, channels.map(toKey)))
    .where('shown', '=', true)
    .execute()
}

function toStored(row: Selectable<ChannelsTable>): StoredChannel {
  const { loan_type: loanType, loan_id: loanId, role, strength } = row
  return {
    network: row.network,
    robust: row.robust,
    id: row.id,
    channel: row.state as Channel,
    link:
      loanType === null || loanId === null || role === null || strength === null
        ? null
        : { loanType, loanId, role: role as ChannelRole, strength: strength as Strength },
    claimants: row.claimants,
    shown: row.shown,
    part: row.part as ChannelPart | null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    since: row.since,
  }
}

function toKey({ network, robust }: ChannelKey): { network: string; robust: string } {
  return { network, robust }
}
