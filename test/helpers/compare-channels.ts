import * as z from 'zod'
import type { FastifyInstance } from 'fastify'
import type { Deployment } from '../../devnet/evm/deploy.ts'
import type { Player } from '../../devnet/evm/player.ts'
import { createRpc, RpcRefusal } from '../../devnet/evm/rpc.ts'
import type { Lotus } from '../../devnet/filecoin/lotus.ts'
import { walletAddress } from '../../devnet/loans/cast.ts'
import { createChainView, type ChainView } from '../../devnet/loans/chain-view.ts'
import {
  channelStories,
  recordsOf,
  redeemedIn,
  type ChannelStory,
} from '../../devnet/loans/expected-records.ts'
import type { VoucherRole } from '../../devnet/loans/filecoin-half.ts'
import { createLotusRpc, type LotusRpc } from '../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../devnet/loans/made-loans.ts'
import { fundsOf, firstFunds } from '../../devnet/loans/funds.ts'
import type { Db } from '../../shared/db/connect.ts'
import { compareBags, decimal } from './compare-with-chain.ts'
import { recordRows } from './log-views.ts'

/**
 * An independent check of the Filecoin halves. It compares the records with the player's diary and the chain's branch.
 * Every loan's parts in the API must match that story and, while the channel lives, the node's channel state.
 */
export interface ChannelComparison {
  records: number
  channels: number
  living: number
  fields: number
  differences: string[]
}

export interface Stage {
  db: Db
  app: FastifyInstance
  rpcUrl: string
  deployment: Deployment
  lotus: Lotus
  player: Player
  settleDelayEpochs: number
}

const NETWORK = 'filecoin:testnet'
const FIL = 18n

/** Compares at the node's head, which must not move meanwhile, with the index at the newest executed tipset. */
export async function compareChannels(stage: Stage): Promise<ChannelComparison> {
  const rpc = createLotusRpc(stage.lotus.url)
  const view = createChainView(rpc)
  await view.refresh()
  const loans = await madeLoans(createRpc(stage.rpcUrl), stage.deployment)
  const stories = channelStories(stage.player.lives, loans, view)
  const comparison = { records: 0, channels: stories.length, living: 0, fields: 0, differences: [] }
  await compareRecords(stage.db, stories, comparison)
  const ofLoan = new Map<string, ChannelStory[]>()
  for (const story of stories) {
    const name = nameOf(story.loan)
    ofLoan.set(name, [...(ofLoan.get(name) ?? []), story])
  }
  for (const loan of loans) {
    await compareLoan({ ...stage, rpc, view }, loan, ofLoan.get(nameOf(loan)) ?? [], comparison)
  }
  return comparison
}

function nameOf({ market, loanId }: { market: string; loanId: bigint }): string {
  return `${market} ${loanId}`
}

async function compareRecords(db: Db, stories: ChannelStory[], comparison: ChannelComparison): Promise<void> {
  const wanted = stories
    .flatMap(recordsOf)
    .map(({ txHash, event, loanId, loanType }) => `${txHash} ${event} ${loanId} FIL testnet - ${loanType}`)
  const rows = (await recordRows(db)).filter(({ network }) => network === NETWORK)
  const found = rows.map((row) =>
    [row.tx_hash, row.event, row.loan_id, row.blockchain, row.network_id, row.contract_address ?? '-']
      .concat(row.loan_type)
      .join(' '),
  )
  comparison.records = wanted.length
  compareBags(wanted, found, comparison.differences)
}

const partSchema = z.record(z.string(), z.string().nullable())
type Part = z.infer<typeof partSchema>
const answerSchema = z.object({
  payload: z.object({
    erc20Loan: partSchema.optional(),
    collateralLock: partSchema.optional(),
    filCollateral: partSchema.optional(),
    filLoan: partSchema.optional(),
    filPayback: partSchema.optional(),
  }),
})

const ROLES = {
  erc20Loans: [['filCollateral', 'collateral']],
  erc20CollateralLock: [
    ['filLoan', 'principal'],
    ['filPayback', 'payback'],
  ],
} as const

type Asking = Stage & { rpc: LotusRpc; view: ChainView }

async function compareLoan(
  stage: Asking,
  { market, loanId }: { market: 'erc20Loans' | 'erc20CollateralLock'; loanId: bigint },
  stories: ChannelStory[],
  comparison: ChannelComparison,
): Promise<void> {
  const url = `/api/loan/${market === 'erc20Loans' ? 'ERC20' : 'FIL'}/${loanId}`
  const { payload } = answerSchema.parse((await stage.app.inject({ method: 'GET', url })).json())
  const contract = payload.erc20Loan ?? payload.collateralLock ?? {}
  for (const [name, role] of ROLES[market]) {
    const part = payload[name] ?? {}
    const story = stories.find((one) => one.role === role)
    const wanted = story === undefined ? {} : expectedPart(stage, story, contract)
    const tell = (field: string, ours: unknown, theirs: unknown): number =>
      comparison.differences.push(
        `${url} ${name}.${field}: ours ${String(ours)}, theirs ${String(theirs)} (${story?.life.plan ?? 'no channel'})`,
      )
    if (story === undefined && Object.keys(part).length > 0) tell('id', part['id'], 'no channel')
    for (const [field, value] of Object.entries(wanted)) {
      comparison.fields += 1
      if ((part[field] ?? null) !== value) tell(field, part[field], value)
    }
    if (story !== undefined && (await compareWithNode(stage, story, part, tell))) comparison.living += 1
  }
}

/** Returns the fields that follow from a channel's story; `contract` is the loan's other half in the API. */
function expectedPart(stage: Asking, story: ChannelStory, contract: Part): Part {
  const { role, half, life, messages, loan, createCid } = story
  const deposits =
    firstFunds(life, half, role) +
    (did(story, `fund ${role}`) ? fundsOf(life, half, role) - firstFunds(life, half, role) : 0n)
  const settled = messages.find(({ what }) => what === `settle ${role}`)
  const settlingAt = settled === undefined ? null : settled.outcome.height + stage.settleDelayEpochs
  const { genesisTimeS, epochDurationS } = stage.lotus.chain.settings
  const lockId = contract['id'] ?? null
  const market =
    role === 'collateral'
      ? { erc20LoanId: lockId, erc20LoanContractId: loan.loanId.toString(), erc20LoansNetworkId: '31337' }
      : {
          collateralLockId: lockId,
          collateralLockContractId: loan.loanId.toString(),
          collateralLockNetworkId: '31337',
        }
  return {
    paymentChannelId: story.id,
    paymentChannelAddress: story.robust,
    filLender: walletAddress(half.lender),
    filBorrower: walletAddress(half.borrower),
    txHash: createCid,
    network: 'testnet',
    state: stateOf(story),
    settlingAtHeight: settlingAt === null ? null : settlingAt.toString(),
    settlingAtEstTimestamp:
      settlingAt === null ? null : (genesisTimeS + settlingAt * epochDurationS).toString(),
    ...market,
    ...{ [role === 'principal' ? 'lockedAmount' : 'amount']: decimal(deposits, FIL) },
    ...secretsAndVouchers(story, contract),
  }
}

function did({ messages }: ChannelStory, what: string): boolean {
  return messages.some((message) => message.what === what)
}

function isRedeemed(story: ChannelStory, voucher: VoucherRole): boolean {
  return redeemedIn(story).includes(voucher)
}

function secretsAndVouchers(story: ChannelStory, contract: Part): Part {
  const { role, life } = story
  const text = (voucher: VoucherRole): string | null => knownVoucher(story, voucher)
  const shown = (field: 'secretA1' | 'secretB1', voucher: VoucherRole): string | null => {
    const isPublic = contract[field] != null || isRedeemed(story, voucher)
    return isPublic ? new TextDecoder().decode(life.secrets[field === 'secretA1' ? 'a1' : 'b1']) : null
  }
  switch (role) {
    case 'collateral':
      return {
        ...{ ethBorrower: contract['borrower'] ?? null, ethLender: contract['lender'] ?? null },
        secretHashA1: contract['secretHashA1'] ?? (text('seize') === null ? null : life.hashes.a1),
        ...{ signedVoucher: text('seize'), unlockSignedVoucher: text('unlock') },
        ...{ secretA1: shown('secretA1', 'seize'), secretB1: shown('secretB1', 'unlock') },
      }
    case 'principal':
      return {
        ...{ ethBorrower: contract['borrower'] ?? null, ethLender: contract['lender'] ?? null },
        principalAmount: decimal(life.filAmount, FIL),
        secretHashB1: contract['secretHashB1'] ?? null,
        ...{ signedVoucher: text('withdraw'), secretA1: shown('secretA1', 'withdraw') },
      }
    case 'payback':
      return {
        secretHashB1: contract['secretHashB1'] ?? null,
        ...{ signedVoucher: text('payback'), secretB1: shown('secretB1', 'payback') },
      }
  }
}

function knownVoucher(story: ChannelStory, voucher: VoucherRole): string | null {
  const signed = story.half.vouchers[voucher]
  if (signed?.channel !== story.robust) return null
  const isKnown = story.half.choices.ways[voucher] !== 'redemption' || isRedeemed(story, voucher)
  return isKnown ? signed.text : null
}

/** Section 7 of the protocol's description. */
function stateOf(story: ChannelStory): string {
  const { role } = story
  const isCollected = did(story, `collect ${role}`) || did(story, `early collect ${role}`)
  const isSettling = did(story, `settle ${role}`)
  if (role !== 'collateral') {
    const voucher = role === 'principal' ? 'withdraw' : 'payback'
    if (isCollected) return '4'
    if (isSettling) return '3'
    if (isRedeemed(story, voucher)) return '2'
    return knownVoucher(story, voucher) === null ? '0' : '1'
  }
  const isSeized = isRedeemed(story, 'seize') && !isRedeemed(story, 'unlock')
  if (isCollected) return isSeized ? '8' : '5'
  if (isSettling) return isSeized ? '7' : '4'
  if (isSeized) return '6'
  if (isRedeemed(story, 'unlock')) return '3'
  if (knownVoucher(story, 'unlock') !== null) return '2'
  return knownVoucher(story, 'seize') === null ? '0' : '1'
}

const stateSchema = z.object({
  Balance: z.string(),
  State: z.object({ From: z.string(), To: z.string(), ToSend: z.string(), SettlingAt: z.number() }),
})

/** Returns whether the channel lives; its state in the node is then decisive. */
async function compareWithNode(
  { rpc }: Asking,
  story: ChannelStory,
  part: Part,
  tell: (field: string, ours: unknown, theirs: unknown) => unknown,
): Promise<boolean> {
  const { robust, role } = story
  const isOver = part['state'] === (role === 'collateral' ? '5' : '4') || part['state'] === '8'
  try {
    const { Balance, State } = await rpc.call(stateSchema, 'StateReadState', robust, null)
    if (isOver) tell('state', part['state'], 'the channel lives')
    const amount = part[role === 'principal' ? 'lockedAmount' : 'amount']
    if (decimal(BigInt(Balance), FIL) !== amount) tell('amount', amount, Balance)
    if (String(State.SettlingAt) !== (part['settlingAtHeight'] ?? '0'))
      tell('settlingAtHeight', part['settlingAtHeight'], State.SettlingAt)
    const parties = { filLender: State.From, filBorrower: State.To }
    if (role !== 'principal') Object.assign(parties, { filLender: State.To, filBorrower: State.From })
    for (const [field, id] of Object.entries(parties)) {
      const theirs = await rpc.call(z.string(), 'StateAccountKey', id, null)
      if (part[field] !== theirs) tell(field, part[field], theirs)
    }
    const last = redeemedIn(story).at(-1) ?? 'unlock'
    if (BigInt(State.ToSend) > 0n !== (last !== 'unlock')) tell('state', part['state'], State.ToSend)
    return true
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error
    if (!isOver) tell('state', part['state'], 'the channel is gone')
    return false
  }
}
