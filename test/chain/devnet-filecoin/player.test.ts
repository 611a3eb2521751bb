import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../../devnet/evm/deploy.ts'
import { createPlayer, type Player, type PlayerOptions } from '../../../devnet/evm/player.ts'
import { anything, createRpc, quantity, type Rpc } from '../../../devnet/evm/rpc.ts'
import { startLotus, type Lotus } from '../../../devnet/filecoin/lotus.ts'
import { createChainView, type ChainView } from '../../../devnet/loans/chain-view.ts'
import { channelStories, recordsOf, type ChannelStory } from '../../../devnet/loans/expected-records.ts'
import { createLotusRpc, tipsetSchema } from '../../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../../devnet/loans/made-loans.ts'
import { voucherFromText } from '../../../shared/filecoin/voucher.ts'

const kinds = [
  ...['LockCollateral', 'SignCollateralVoucher', 'SignUnlockCollateralVoucher'],
  ...['RedeemUnlockCollateralVoucher', 'SettleUnlockCollateral', 'CollectUnlockCollateral'],
  ...['RedeemSeizeCollateralVoucher', 'SettleSeizeCollateral', 'CollectSeizeCollateral'],
]
  .map((kind) => `LendERC20/${kind}`)
  .concat(
    [
      ...['CreatePaymentChannel', 'SignWithdrawVoucher'],
      ...['RedeemWithdrawVoucher', 'SettleWithdraw', 'CollectWithdraw'],
      ...['PaybackPaymentChannel', 'SignPaybackVoucher'],
      ...['RedeemPaybackVoucher', 'SettlePayback', 'CollectPayback'],
    ].map((kind) => `LendFIL/${kind}`),
  )
  .sort()

const SETTLE_DELAY = 5
const EPOCH_S = 2

interface Play {
  rpc: Rpc
  deployment: Deployment
  lotus: Lotus
  player: Player
  handedIn: string[]
  again(options?: Partial<PlayerOptions>): Player
  stories(player?: Player): Promise<{ stories: ChannelStory[]; view: ChainView }>
}

interface Settings extends Partial<PlayerOptions> {
  tickMs?: number | null
  blockTimeSeconds?: number
  confidence?: number
}

async function open(t: Test, settings: Settings = {}): Promise<Play> {
  const { tickMs = null, blockTimeSeconds, confidence = 1, ...options } = settings
  const anvil = await startAnvil(blockTimeSeconds === undefined ? {} : { blockTimeSeconds })
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({ tickMs, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY })
  t.teardown(() => lotus.stop())
  const rpc = createRpc(anvil.url)
  const handedIn: string[] = []
  const again = (more: Partial<PlayerOptions> = {}): Player =>
    createPlayer({
      ...{ rpcUrl: anvil.url, deployment, seed: 'test', hostility: 0 },
      filecoin: {
        ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence },
        handIn: (voucher) => handedIn.push(voucher),
      },
      ...options,
      ...more,
    })
  const player = again()
  const stories = async (of = player) => {
    const view = createChainView(createLotusRpc(lotus.url))
    await view.refresh()
    return { view, stories: channelStories(of.lives, await madeLoans(rpc, deployment), view) }
  }
  return { rpc, deployment, lotus, player, handedIn, again, stories }
}

/** What the loans' states and their channels must say of each other, whatever happened in between. */
function contradictions(stories: ChannelStory[], states: Map<string, number>): string[] {
  return stories.flatMap(({ role, loan, messages, life }) => {
    const did = new Set(messages.map(({ what }) => what.replace('early ', '')))
    const state = states.get(`${loan.market}/${loan.loanId}`)
    const must: Record<string, string[]> = {
      'collateral 5': ['redeem unlock', 'settle collateral', 'collect collateral'],
      'collateral 4': ['redeem seize', 'settle collateral', 'collect collateral'],
      'collateral 2': ['redeem seize', 'settle collateral', 'collect collateral'],
      'collateral 6': ['settle collateral', 'collect collateral'],
      'principal 2': ['redeem withdraw', 'settle principal', 'collect principal'],
      'principal 3': ['redeem withdraw', 'settle principal', 'collect principal'],
      'principal 4': ['settle principal', 'collect principal'],
      'payback 3': ['redeem payback', 'settle payback', 'collect payback'],
    }
    return (must[`${role} ${state ?? ''}`] ?? []).flatMap((what) =>
      did.has(what) ? [] : [`${loan.market}/${loan.loanId} (${life.plan}, ${state ?? ''}): no ${what}`],
    )
  })
}

async function statesOf({ rpc, deployment }: Play): Promise<Map<string, number>> {
  const loans = await madeLoans(rpc, deployment)
  return new Map(loans.map(({ market, loanId, state }) => [`${market}/${loanId}`, state]))
}

async function clockDifference({ rpc, lotus }: Play): Promise<number> {
  const block = await rpc.call(z.object({ timestamp: quantity }), 'eth_getBlockByNumber', 'latest', false)
  const head = await createLotusRpc(lotus.url).call(tipsetSchema, 'ChainHead')
  return Math.abs(block.timestamp - (head.Blocks[0]?.Timestamp ?? 0))
}

void t.test(
  'whole loans in bulk: all kinds of records, and channels that agree with their loans',
  async (t) => {
    const play = await open(t)
    await play.player.playLoans(64)
    const { stories } = await play.stories()
    const records = stories.flatMap(recordsOf)
    t.same([...new Set(records.map(({ event }) => event))].sort(), kinds)
    t.same(contradictions(stories, await statesOf(play)), [])
    t.equal(new Set(records.map(({ txHash }) => txHash)).size, records.length, 'each record is told once')
    t.ok((await clockDifference(play)) < 60, 'the chains tell the same time')
    t.ok(stories.length > 40, `${stories.length} channels`)
    t.ok(play.handedIn.length > 10)
    t.ok(play.handedIn.every((text) => voucherFromText(text).signature !== null))
    const ways = stories.flatMap(({ half }) => Object.values(half.choices.ways))
    t.same([...new Set(ways)].sort(), ['handed-in', 'node-store', 'redemption'])
    const { view } = await play.stories()
    const failed = [...view.outcomes()].filter(([, { exitCode }]) => exitCode !== 0)
    t.ok(failed.length > 5, `${failed.length} messages failed`)
  },
)

void t.test('the same with reorgs of both chains beside it', async (t) => {
  const play = await open(t, { confidence: 8 })
  const { rpc, lotus, player } = play
  await player.playLoans(8)
  for (const depth of [1, 2, 5, 7]) {
    const playing = player.playLoans(12)
    lotus.chain.reorg(depth, { reorder: depth % 2 === 0, drop: 0.3, fail: 0.1 })
    await rpc.call(anything, 'anvil_reorg', depth, [])
    await playing
  }
  await player.playLoans(4)
  const { stories } = await play.stories()
  t.same(contradictions(stories, await statesOf(play)), [])
  t.ok(stories.length > 25, `${stories.length} channels`)
})

void t.test('live play: all kinds, in real time', async (t) => {
  const settings = { tickMs: 500, blockTimeSeconds: 1, pace: 12, loansAtOnce: 16, maxAheadSeconds: 100_000 }
  const play = await open(t, settings)
  const { player } = play
  const began = Date.now()
  const seen = new Map<string, number>()
  const all = new AbortController()
  const look = async (): Promise<void> => {
    const { stories } = await play.stories()
    for (const { event } of stories.flatMap(recordsOf))
      if (!seen.has(event)) seen.set(event, Date.now() - began)
    if (seen.size === kinds.length) all.abort()
  }
  const playing = player.play(AbortSignal.any([all.signal, AbortSignal.timeout(90_000)]))
  while (!all.signal.aborted && Date.now() - began < 90_000) {
    await look()
    await sleep(500)
  }
  await playing
  t.same([...seen.keys()].sort(), kinds, JSON.stringify(Object.fromEntries(seen)))
  t.ok((await clockDifference(play)) < 60, 'the chains tell the same time')
})

void t.test('a new player takes up both halves of what an earlier one left open', async (t) => {
  const livesFile = join(t.testdir(), 'lives.json')
  const play = await open(t, { tickMs: 200, pace: 30, loansAtOnce: 12, livesFile })
  await play.player.playFor(8000)
  const open_ = play.player.lives.filter(({ half }) => Object.keys(half?.acts ?? {}).length > 0)
  t.ok(open_.length > 4, `${open_.length} loans have begun on Filecoin`)
  const heir = play.again({ maxLoans: 0 })
  await heir.playFor(30_000)
  const { stories } = await play.stories(heir)
  t.ok(stories.length > 2, `${stories.length} channels were taken over`)
  t.same(contradictions(stories, await statesOf(play)), [])
})
