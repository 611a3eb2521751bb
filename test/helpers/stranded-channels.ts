import { createRpc } from '../../devnet/evm/rpc.ts'
import { createChainView } from '../../devnet/loans/chain-view.ts'
import { channelStories } from '../../devnet/loans/expected-records.ts'
import { createLotusRpc } from '../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../devnet/loans/made-loans.ts'
import type { Stage } from './compare-channels.ts'

/** As the read model counts: only the parties tie the channel to its loan. */
const BY_PARTIES = 1
const PARTS = { collateral: 'filCollateral', principal: 'filLoan', payback: 'filPayback' } as const

/**
 * A reorg can take a loan away whose channel stays. By its parties alone such a channel may fit another loan, and is
 * then shown there, as it should be; the player's diary knows better, but nobody else can. These differences, and no
 * others, are left out.
 */
export async function withoutStranded(
  stage: Pick<Stage, 'db' | 'lotus' | 'player' | 'rpcUrl' | 'deployment'>,
  differences: readonly string[],
): Promise<string[]> {
  const view = createChainView(createLotusRpc(stage.lotus.url))
  await view.refresh()
  const loans = await madeLoans(createRpc(stage.rpcUrl), stage.deployment)
  const known = channelStories(stage.player.lives, loans, view).map(({ robust }) => robust)
  const guessed = await stage.db
    .selectFrom('projection.channels')
    .select(['robust', 'loan_type', 'loan_id', 'role'])
    .where('strength', '=', BY_PARTIES)
    .execute()
  const stranded = guessed.filter(({ robust }) => !known.includes(robust))
  if (stranded.length === 0) return [...differences]
  const records = await stage.db
    .selectFrom('projection.activity')
    .select('tx_hash')
    .where(
      'channel',
      'in',
      stranded.map(({ robust }) => robust),
    )
    .execute()
  const excused = [
    ...records.map(({ tx_hash }) => `too many 1 x ${tx_hash} `),
    ...stranded.flatMap(({ loan_type, loan_id, role }) => {
      const part = PARTS[role as keyof typeof PARTS]
      return `/api/loan/${loan_type === 'ERC20FIL' ? 'ERC20' : 'FIL'}/${loan_id ?? ''} ${part}.id: `
    }),
  ]
  return differences.filter((line) => !excused.some((start) => line.startsWith(start)))
}
