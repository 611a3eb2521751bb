import { sql } from 'kysely'
import { createRpc } from '../../devnet/evm/rpc.ts'
import { createChainView } from '../../devnet/loans/chain-view.ts'
import { channelStories, recordsOf, type ChannelStory } from '../../devnet/loans/expected-records.ts'
import { createLotusRpc } from '../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../devnet/loans/made-loans.ts'
import { CLOCK_TOLERANCE_S } from '../../indexer/projections/links/link.evolve.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { Stage } from './compare-channels.ts'

/** The read model's strength of a link by the parties alone. */
const BY_PARTIES = 1
const PARTS = { collateral: 'filCollateral', principal: 'filLoan', payback: 'filPayback' } as const

/**
 * Drops the differences that a reorg causes and that only the player's diary can explain; all others stay.
 * - A reorg can remove a loan whose channel stays. The channel's parties alone may fit another loan, which then rightly
 *   has it.
 * - A reorg can move a loan's agreement after its channel, which is then too old to fit by its parties.
 * - A reorg can move a channel after the end of its loan, which no longer waits for it then.
 * - A reorg can move a channel, or another loan of the same parties, to a time at which the other loan waits too or
 *   alone. The channel then belongs to no loan, or to the other one.
 * - A reorg can let a creation succeed that had failed and was repeated. The loan then has two channels that its parties
 *   made for it, and the diary does not say which one counts.
 */
export async function withoutStranded(
  stage: Pick<Stage, 'db' | 'lotus' | 'player' | 'rpcUrl' | 'deployment'>,
  differences: readonly string[],
): Promise<string[]> {
  if (differences.length === 0) return []
  const view = createChainView(createLotusRpc(stage.lotus.url))
  await view.refresh()
  const loans = await madeLoans(createRpc(stage.rpcUrl), stage.deployment)
  const stories = channelStories(stage.player.lives, loans, view)
  const excused = (
    await Promise.all([fittingAnother, outOfTime, contested, twofold].map((tell) => tell(stage.db, stories)))
  ).flat()
  return differences.filter((line) => !excused.some((start) => line.startsWith(start)))
}

/** Returns beginnings of differences for channels without a loan that are shown where their parties fit. */
async function fittingAnother(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const known = stories.map(({ robust }) => robust)
  const guessed = await db
    .selectFrom('projection.channels')
    .select(['robust', 'loan_type', 'loan_id', 'role'])
    .where('strength', '=', BY_PARTIES)
    .execute()
  const stranded = guessed.filter(({ robust }) => !known.includes(robust))
  if (stranded.length === 0) return []
  const shown = stranded.map(({ robust }) => robust)
  return [
    ...(await tooManyOf(db, shown)),
    ...stranded.flatMap(({ loan_type, loan_id, role }) => {
      const part = PARTS[role as keyof typeof PARTS]
      return `/api/loan/${routeOf(loan_type)}/${loan_id ?? ''} ${part}.id: `
    }),
  ]
}

/** Returns beginnings of differences for channels of no loan, created too long before their loan or after its end. */
async function outOfTime(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const unclaimed = await db
    .selectFrom('projection.channels')
    .select(['robust', 'created_s'])
    .where('loan_id', 'is', null)
    .where('claimants', '=', sql<string[]>`'{}'`)
    .execute()
  const excused: string[] = []
  for (const story of stories) {
    const { robust, loan, role } = story
    const channel = unclaimed.find((one) => one.robust === robust)
    const times = await db
      .selectFrom('projection.loans')
      .select(['opened_s', 'agreed_s', 'ended_s'])
      .where('loan_type', '=', loan.market === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20')
      .where('loan_id', '=', loan.loanId.toString())
      .executeTakeFirst()
    if (channel === undefined || times === undefined) continue
    const firstS = role === 'payback' ? times.agreed_s : times.opened_s
    const lastS = role === 'payback' ? times.ended_s : (times.agreed_s ?? times.ended_s)
    const isTooOld = firstS !== null && channel.created_s < firstS - CLOCK_TOLERANCE_S
    const isTooNew = lastS !== null && channel.created_s >= lastS + CLOCK_TOLERANCE_S
    if (!isTooOld && !isTooNew) continue
    excused.push(...missing(story))
  }
  return excused
}

interface Contest {
  robust: string
  shownAt: string | null
  loan: string
  role: keyof typeof PARTS
  /** True when the loan had not ended at the channel's creation. */
  open: boolean
}

/**
 * Returns beginnings of differences for channels that only their parties tie to their loan, when another loan's times
 * fit as well or better. Such a channel must be shown where the times decide, or nowhere where they do not.
 */
export async function contested(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const { rows } = await sql<Contest>`
    select robust, channel.loan_type || '/' || channel.loan_id || '/' || channel.role as "shownAt",
      loan.loan_type || '/' || loan.loan_id as loan, of.role, coalesce(created_s < of.end_s, true) as open
    from projection.channels channel
    join projection.loans loan on channel.parties && array[loan.fil_borrower, loan.fil_lender]
    cross join lateral (values
      ('collateral', 'ERC20FIL', array[fil_lender], opened_s, coalesce(agreed_s, ended_s)),
      ('principal', 'FILERC20', array[fil_borrower], opened_s, coalesce(agreed_s, ended_s)),
      ('payback', 'FILERC20', array[fil_borrower, fil_lender], agreed_s, ended_s)
    ) of(role, loan_type, parties, start_s, end_s)
    where of.loan_type = loan.loan_type and channel.parties @> of.parties
      and coalesce(channel.strength, ${BY_PARTIES}) = ${BY_PARTIES}
      -- Whatever ties it to any loan more strongly has to count.
      and (of.role = 'payback' or not exists (
        select from projection.channels named where named.addresses && array[loan.named_channel]
          and named.parties @> array_remove(array[loan.fil_borrower, loan.fil_lender], null)))
      and not channel.addresses && array[loan.named_channel]
      and not channel.secret_hashes && array[loan.secret_hash_a1, loan.secret_hash_b1]
      and not channel.stated_loans && array[loan.contract_loan_id]
      and created_s >= start_s - ${CLOCK_TOLERANCE_S}::bigint
      and coalesce(created_s < end_s + ${CLOCK_TOLERANCE_S}::bigint, true)`.execute(db)
  return stories.flatMap((story) => {
    const own = `${story.loan.market === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20'}/${story.loan.loanId}`
    const all = rows.filter(({ robust }) => robust === story.robust)
    const open = all.filter((one) => one.open)
    const best = open.length === 0 ? all : open
    const isOwn = ({ loan, role }: Contest): boolean => loan === own && role === story.role
    const [only] = best
    if (!all.some(isOwn) || only === undefined || (best.length === 1 && isOwn(only))) return []
    const shownAt = best.length === 1 ? `${only.loan}/${only.role}` : null
    if (only.shownAt !== shownAt) return []
    const [market, loanId] = only.loan.split('/')
    const there = shownAt === null ? [] : [`/api/loan/${routeOf(market)}/${loanId} ${PARTS[only.role]}.`]
    return [...missing(story), ...(shownAt === null ? [] : tooMany(story)), ...there]
  })
}

/** Returns beginnings of differences for loans with two channels in one role. */
async function twofold(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const both = stories.filter(({ twins }) => twins.length > 0)
  if (both.length === 0) return []
  const shown = both.flatMap(({ twins }) => twins)
  return [...(await tooManyOf(db, shown)), ...both.flatMap(missing)]
}

function routeOf(loanType: string | null | undefined): string {
  return loanType === 'ERC20FIL' ? 'ERC20' : 'FIL'
}

/** Returns beginnings of differences for all records of these channels, named by their robust addresses. */
async function tooManyOf(db: Db, channels: readonly string[]): Promise<string[]> {
  const records = await db
    .selectFrom('projection.activity')
    .select('tx_hash')
    .where('channel', 'in', channels)
    .execute()
  return records.map(({ tx_hash }) => `too many 1 x ${tx_hash} `)
}

function tooMany(story: ChannelStory): string[] {
  return recordsOf(story).map(({ txHash }) => `too many 1 x ${txHash} `)
}

/** Returns beginnings of the differences for a channel that is shown nowhere. */
function missing(story: ChannelStory): string[] {
  return [...recordsOf(story).map(({ txHash }) => `missing 1 x ${txHash} `), shownPart(story)]
}

function shownPart({ loan, role }: Pick<ChannelStory, 'loan' | 'role'>): string {
  const route = loan.market === 'erc20Loans' ? 'ERC20' : 'FIL'
  return `/api/loan/${route}/${loan.loanId} ${PARTS[role]}.`
}
