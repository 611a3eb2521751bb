import { sql } from 'kysely'
import { createRpc } from '../../devnet/evm/rpc.ts'
import { createChainView } from '../../devnet/loans/chain-view.ts'
import { channelStories, recordsOf, type ChannelStory } from '../../devnet/loans/expected-records.ts'
import { createLotusRpc } from '../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../devnet/loans/made-loans.ts'
import { CLOCK_TOLERANCE_S } from '../../indexer/projections/links/link.evolve.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { Stage } from './compare-channels.ts'

/** As the read model counts: only the parties tie the channel to its loan. */
const BY_PARTIES = 1
const PARTS = { collateral: 'filCollateral', principal: 'filLoan', payback: 'filPayback' } as const

/**
 * What a reorg leaves behind that only the player's diary can tell, and no other differences, is left out:
 * - It can take a loan away whose channel stays. By its parties alone such a channel may fit another loan, and is then
 *   shown there, as it should be.
 * - It can bring a loan's agreement to a later time than its channel's, which then is too old to fit it by its parties.
 * - It can bring a channel to a later time than the end of its loan, which then did not wait for it any more.
 * - It can bring a channel, or the end of another loan of the same parties, to a time at which both loans wait for one.
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
    await Promise.all([fittingAnother, outOfTime, fittingTwo].map((tell) => tell(stage.db, stories)))
  ).flat()
  return differences.filter((line) => !excused.some((start) => line.startsWith(start)))
}

/** How the differences of channels begin that are shown where only their parties fit, for they have no loan. */
async function fittingAnother(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const known = stories.map(({ robust }) => robust)
  const guessed = await db
    .selectFrom('projection.channels')
    .select(['robust', 'loan_type', 'loan_id', 'role'])
    .where('strength', '=', BY_PARTIES)
    .execute()
  const stranded = guessed.filter(({ robust }) => !known.includes(robust))
  if (stranded.length === 0) return []
  const records = await db
    .selectFrom('projection.activity')
    .select('tx_hash')
    .where(
      'channel',
      'in',
      stranded.map(({ robust }) => robust),
    )
    .execute()
  return [
    ...records.map(({ tx_hash }) => `too many 1 x ${tx_hash} `),
    ...stranded.flatMap(({ loan_type, loan_id, role }) => {
      const part = PARTS[role as keyof typeof PARTS]
      return `/api/loan/${loan_type === 'ERC20FIL' ? 'ERC20' : 'FIL'}/${loan_id ?? ''} ${part}.id: `
    }),
  ]
}

/** How the differences of channels begin that are nobody's: made too long before their loan was there, or after its end. */
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

/** How the differences of channels begin that are nobody's: two loans of their parties were open when they were made. */
async function fittingTwo(db: Db, stories: readonly ChannelStory[]): Promise<string[]> {
  const { rows } = await sql<{ robust: string; open: string[] }>`
    select robust, array_agg(loan.loan_type || '/' || loan.loan_id) as open
    from projection.channels channel join projection.loans loan
      on loan.loan_type || '/' || loan.loan_id = any(channel.claimants)
      and channel.created_s >= loan.opened_s and channel.created_s < coalesce(loan.ended_s, 9007199254740991)
    where channel.loan_id is null group by robust having count(*) > 1`.execute(db)
  return stories.flatMap((story) => {
    const { market, loanId } = story.loan
    const own = `${market === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20'}/${loanId}`
    return rows.some(({ robust, open }) => robust === story.robust && open.includes(own))
      ? missing(story)
      : []
  })
}

/** How the differences begin of a channel that is shown nowhere. */
function missing(story: ChannelStory): string[] {
  const { market, loanId } = story.loan
  const route = market === 'erc20Loans' ? 'ERC20' : 'FIL'
  return [
    ...recordsOf(story).map(({ txHash }) => `missing 1 x ${txHash} `),
    `/api/loan/${route}/${loanId} ${PARTS[story.role]}.`,
  ]
}
