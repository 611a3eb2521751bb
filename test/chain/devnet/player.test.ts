import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { contracts } from '../../../devnet/evm/artifacts.ts'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts, type Deployment } from '../../../devnet/evm/deploy.ts'
import { markets } from '../../../devnet/evm/loan-life.ts'
import { createPlayer, type Player, type PlayerOptions } from '../../../devnet/evm/player.ts'
import { anything, createRpc, hex, quantity, type Rpc } from '../../../devnet/evm/rpc.ts'

const kinds = [
  ...[
    'CreateLoanOffer',
    'ApproveRequest',
    'Withdraw',
    'Payback',
    'AcceptRepayment',
    'RefundPayback',
    'CancelLoan',
  ],
  ...[
    'CreateBorrowRequest',
    'AcceptOffer',
    'UnlockCollateral',
    'SeizeCollateral',
    'UnlockRefundableCollateral',
  ],
  'CancelBorrowRequest',
].sort()

interface Play {
  rpc: Rpc
  deployment: Deployment
  player: Player
  again(options?: Partial<PlayerOptions>): Player
}

async function open(t: Test, blockTimeSeconds?: number, options: Partial<PlayerOptions> = {}): Promise<Play> {
  const anvil = await startAnvil(blockTimeSeconds === undefined ? {} : { blockTimeSeconds })
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const again = (more: Partial<PlayerOptions> = {}): Player =>
    createPlayer({ rpcUrl: anvil.url, deployment, seed: 'test', ...options, ...more })
  return { rpc: createRpc(anvil.url), deployment, player: again(), again }
}

const logSchema = z.object({ address: hex, topics: z.array(hex), data: hex, transactionHash: hex })

/** What the node says happened: `transaction/kind/loan`, in the chain's order. */
async function chainEvents({ rpc, deployment }: Play): Promise<string[]> {
  const address = [deployment.erc20Loans, deployment.erc20CollateralLock]
  const filter = { address, fromBlock: '0x0', toBlock: 'latest' }
  const logs = await rpc.call(z.array(logSchema), 'eth_getLogs', filter)
  return logs.map((log) => {
    const market = markets.find((name) => deployment[name].toLowerCase() === log.address)
    const event = contracts[market ?? 'erc20Loans'].interface.parseLog(log)
    return `${log.transactionHash}/${event?.name ?? '?'}/${String(event?.args[0])}`
  })
}

function diaryEvents({ diary }: Player): string[] {
  return diary.map((entry) => `${entry.transactionHash}/${entry.kind}/${entry.loanId}`)
}

function kindsOf(player: Player): string[] {
  return [...new Set(player.diary.map(({ kind }) => kind))].sort()
}

void t.test('bulk play: all kinds, several in a transaction, and a diary that is the chain', async (t) => {
  const play = await open(t)
  const { player } = play
  const entries = await player.playLoans(40)
  t.same(kindsOf(player), kinds)
  t.equal(player.diary.length, entries.length)
  const onChain = await chainEvents(play)
  t.same(diaryEvents(player).sort(), onChain.sort())
  const loansOf = new Map<string, Set<string>>()
  for (const { transactionHash, market, loanId } of entries)
    loansOf.set(transactionHash, (loansOf.get(transactionHash) ?? new Set()).add(`${market}/${loanId}`))
  const most = Math.max(...[...loansOf.values()].map((loans) => loans.size))
  t.ok(most >= 2, `up to ${most} loans in one transaction`)
  const automine = await play.rpc.call(z.boolean(), 'anvil_getAutomine')
  t.ok(automine, 'the node mines again as it did before')
})

void t.test('the same seed makes the same choices', async (t) => {
  const [one, other] = await Promise.all([open(t), open(t)])
  const story = (player: Player): string[] => player.diary.map(({ kind, loanId }) => `${kind} ${loanId}`)
  await Promise.all([one.player.playLoans(10), other.player.playLoans(10)])
  t.same(story(one.player), story(other.player))
})

void t.test('live play: the first event within about a second, all kinds soon', async (t) => {
  const play = await open(t, 1, { pace: 20, loansAtOnce: 24 })
  const began = Date.now()
  let first = Infinity
  const player = play.again({ onEvent: () => void (first = Math.min(first, Date.now() - began)) })
  const all = new AbortController()
  const watch = setInterval(() => kindsOf(player).length === kinds.length && all.abort(), 50)
  t.teardown(() => clearInterval(watch))
  await player.play(AbortSignal.any([all.signal, AbortSignal.timeout(45_000)]))
  t.same(kindsOf(player), kinds, `after ${Date.now() - began} ms`)
  t.ok(first < 2500, `first event after ${first} ms`)
  t.same(diaryEvents(player), await chainEvents(play))
})

void t.test('live play goes on through reorgs and knows what is left of its loans', async (t) => {
  const play = await open(t, undefined, { pace: 40, loansAtOnce: 24 })
  const { rpc } = play
  const notices: string[] = []
  const player = play.again({ onNotice: (line) => notices.push(line) })
  for (const depth of [1, 3, 6]) {
    await player.playFor(1200)
    const head = await rpc.call(quantity, 'eth_blockNumber')
    await rpc.call(anything, 'anvil_reorg', Math.min(depth, head - 2), [])
  }
  const before = player.diary.length
  await player.playFor(2500)
  t.ok(player.diary.length > before + 5, `${player.diary.length - before} events after the last reorg`)
  t.same(notices, [])
  const lived = new Set(diaryEvents(player))
  const strangers = (await chainEvents(play)).filter((event) => !lived.has(event))
  t.ok(strangers.length <= 12, 'the chain holds what the diary holds, but for what was not looked at yet')
})

void t.test('bulk play after a reorg, and beside one', async (t) => {
  const play = await open(t)
  const { rpc, player } = play
  await player.playLoans(10)
  await rpc.call(anything, 'anvil_reorg', 5, [])
  await player.playLoans(10)
  const [entries] = await Promise.all([player.playLoans(20), rpc.call(anything, 'anvil_reorg', 3, [])])
  t.ok(entries.length >= 40, `${entries.length} events`)
})

void t.test('a new player takes up what an earlier one with its seed left open', async (t) => {
  const play = await open(t, undefined, { pace: 40, loansAtOnce: 24, hostility: 0 })
  await play.player.playFor(1500)
  // What it sent last may be on its way into a block.
  await sleep(200)
  const [open_, others] = [await openLoans(play), play.again({ seed: 'another', maxLoans: 0 })]
  t.ok(open_.length > 2, `${open_.length} loans are open`)
  await others.playFor(700)
  t.equal(others.diary.length, 0, 'one with another seed leaves them alone')
  const heir = play.again({ maxLoans: 0 })
  for (let times = 0; heir.diary.length === 0 && times < 20; times += 1) await heir.playFor(1500)
  t.ok(heir.diary.length > 0, `${heir.diary.length} events of its inheritance`)
  t.ok(heir.diary.every(({ market, loanId }) => open_.includes(`${market}/${loanId}`)))
})

async function openLoans({ rpc, deployment }: Play): Promise<string[]> {
  const found: string[] = []
  for (const market of markets) {
    const { interface: contract } = contracts[market]
    const ask = async (method: string, args: unknown[]) => {
      const data = contract.encodeFunctionData(method, args)
      const answer = await rpc.call(hex, 'eth_call', { to: deployment[market], data }, 'latest')
      return contract.decodeFunctionResult(method, answer).toArray(true) as unknown[]
    }
    const [last] = await ask('loanIdCounter', [])
    for (let id = 1n; id <= BigInt(String(last)); id++) {
      const state = Number((await ask('fetchLoan', [id])).at(-1))
      if (state <= (market === 'erc20Loans' ? 3 : 1)) found.push(`${market}/${id}`)
    }
  }
  return found
}

void t.test('hostile texts and bad tokens stop nothing', async (t) => {
  const { player } = await open(t, undefined, { hostility: 0.5, badTokens: true })
  await player.playLoans(32)
  t.same(kindsOf(player), kinds)
})
