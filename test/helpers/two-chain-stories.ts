import type { ChainEvent, EvmLoanEvent } from '../../shared/events/chain-event.ts'
import type {
  FilecoinIdentity,
  FilecoinMessageEvent,
  HandedInEvent,
  VoucherFacts,
} from '../../shared/events/filecoin-event.ts'
import { formatAddress, secp256k1Address } from '../../shared/filecoin/address.ts'
import {
  collectChannel,
  fundChannel,
  makeChannel,
  settleChannel,
  signedVoucher,
  updateChannel,
  voucherFacts,
} from './channel-events.ts'
import { hash, seededRandom } from './random-chain.ts'
import { actorAddress } from '../../devnet/filecoin/codec.ts'

/**
 * Lives of loans, half on an EVM chain and half on Filecoin, as each ledger's events in their order, with the expected
 * records. Tests choose the order between the ledgers.
 */
export interface TwoChains {
  evm: EvmLoanEvent[]
  filecoin: FilecoinMessageEvent[]
  offchain: HandedInEvent[]
  /** `event loanType/loanId txHash` of every record, except those of rivals. */
  expected: string[]
  /** Channels that wait for their loan's contract: expected content of those loans' lookups. */
  awaited: string[]
}

export interface StoryOptions {
  /** Number of Filecoin identities that all loans share: the fewer, the more ambiguous. Unset: none are shared. */
  people?: number
  /** The probability that a voucher is handed in; its redemption always carries it. */
  handedIn?: number
  /** Restricts loans to this market or this end. */
  market?: 'erc20' | 'fil'
  end?: End
  /** Another party makes a channel for each loan first, and some loans stay open. */
  rivals?: boolean
}

export type End = 'repaid' | 'seized' | 'cancelled' | 'open'

type Random = ReturnType<typeof seededRandom>

const START_S = 1_700_000_010
const GENESIS_S = 1_600_000_000
const STEP_S = 600
const CONTRACT = {
  erc20Loans: '0x00000000000000000000000000000000000000C0',
  erc20CollateralLock: '0x00000000000000000000000000000000000000C1',
} as const

export function person(name: string): FilecoinIdentity {
  const key = new Uint8Array(65).fill(4)
  key.set(new TextEncoder().encode(name).subarray(0, 60), 1)
  const robust = formatAddress(secp256k1Address(key), 't')
  return {
    asWritten: robust,
    id: `t0${100 + (new TextEncoder().encode(name).reduce((sum, byte) => sum * 31 + byte, 7) % 1e9)}`,
    robust: [robust],
  }
}

export function channelAddress(name: string): string {
  return formatAddress(actorAddress(new TextEncoder().encode(name)), 't')
}

function hexText(text: string, bytes?: number): string {
  const hex = Buffer.from(text).toString('hex')
  return `0x${bytes === undefined ? hex : hex.padEnd(bytes * 2, '0')}`
}

class Story {
  readonly chains: TwoChains
  readonly id: string
  readonly borrower: FilecoinIdentity
  readonly lender: FilecoinIdentity
  readonly secrets: { a1: string; b1: string }
  readonly hashes: { a1: string; b1: string }
  readonly #role: 'erc20Loans' | 'erc20CollateralLock'
  readonly #handedIn: () => boolean
  readonly #people: { from: string; to: string }
  readonly #rivals: Random | null
  #timeS: number
  #redeemed = new Set<string>()

  constructor(
    chains: TwoChains,
    given: {
      id: number
      role: 'erc20Loans' | 'erc20CollateralLock'
      startS: number
      borrower: string
      lender: string
      handedIn: () => boolean
      rivals: Random | null
    },
  ) {
    this.chains = chains
    this.id = String(given.id)
    this.#role = given.role
    this.borrower = person(given.borrower)
    this.lender = person(given.lender)
    this.#people = { from: `0x${'b'.repeat(40)}`, to: `0x${'e'.repeat(40)}` }
    this.#timeS = given.startS
    this.#handedIn = given.handedIn
    this.#rivals = given.rivals
    const name = `${given.role}/${given.id}`
    this.secrets = { a1: hexText(`a1 of ${name}`), b1: hexText(`b1 of ${name}`) }
    this.hashes = { a1: hash('a1', name), b1: hash('b1', name) }
  }

  get loan(): string {
    return `${this.#role === 'erc20Loans' ? 'ERC20FIL' : 'FILERC20'}/${this.id}`
  }

  get evmParties(): { borrower: string; lender: string } {
    return { borrower: this.#people.from, lender: this.#people.to }
  }

  #expect(event: string, txHash: string): void {
    this.chains.expected.push(`${event} ${this.loan} ${txHash}`)
  }

  contract(event: Pick<EvmLoanEvent, 'kind' | 'args' | 'terms'>): void {
    this.#timeS += STEP_S
    const number = Math.floor((this.#timeS - START_S) / 12)
    const txHash = hash('tx', this.loan, event.kind)
    this.chains.evm.push({
      blockNumber: number,
      blockHash: hash('block', number),
      blockTimeS: this.#timeS,
      txHash,
      logIndex: this.chains.evm.length,
      txLogIndex: 0,
      contract: CONTRACT[this.#role],
      role: this.#role,
      contractLoanId: this.id,
      loanId: this.id,
      tokenDecimals: 18,
      ...event,
    } as EvmLoanEvent)
    this.#expect(event.kind, txHash)
  }

  #next(): { height: number; cid: string } {
    this.#timeS += STEP_S
    const height = Math.floor((this.#timeS - GENESIS_S) / 30)
    return { height, cid: `cid-${this.loan}-${height}` }
  }

  channel(
    event: string,
    name: string,
    from: FilecoinIdentity,
    recipient: FilecoinIdentity,
    value: string,
  ): StoryChannel {
    const robust = channelAddress(`${this.loan}/${name}`)
    const channelId = `t0${1_000_000 + this.chains.filecoin.length}`
    const made = makeChannel({ ...this.#next(), channel: robust, channelId, from, recipient, value })
    this.chains.filecoin.push(made)
    this.#expect(event, made.txHash)
    return { robust, channelId, from, recipient }
  }

  sign(
    event: string,
    channel: StoryChannel,
    voucher: { hash: string; nonce: number; amount: string; by: 'from' | 'recipient' },
  ): VoucherFacts {
    const facts = voucherFacts({
      key: hash('voucher', channel.robust, voucher.nonce).slice(2),
      channelAddr: channel.robust,
      secretHash: voucher.hash,
      nonce: String(voucher.nonce),
      amount: voucher.amount,
    })
    const signer = channel[voucher.by].robust[0] ?? ''
    if (this.#handedIn()) {
      this.chains.offchain.push(signedVoucher(channel.robust, signer, facts))
      this.#redeemed.add(facts.key)
    }
    this.#pending.set(facts.key, event)
    if (this.#redeemed.has(facts.key)) this.#expect(event, facts.text ?? '')
    return facts
  }

  readonly #pending = new Map<string, string>()

  redeem(
    event: string,
    channel: StoryChannel,
    facts: VoucherFacts,
    by: 'from' | 'recipient',
    secret: string,
  ): void {
    const at = this.#next()
    const redeemed = updateChannel({
      ...at,
      to: channel.channelId,
      voucher: facts,
      sender: channel[by],
      secret,
    })
    this.chains.filecoin.push(redeemed)
    if (!this.#redeemed.has(facts.key)) this.#expect(this.#pending.get(facts.key) ?? '', facts.text ?? '')
    this.#redeemed.add(facts.key)
    this.#expect(event, redeemed.txHash)
  }

  settle(event: string, channel: StoryChannel, by: 'from' | 'recipient'): void {
    const settled = settleChannel({ ...this.#next(), to: channel.robust, sender: channel[by] })
    this.chains.filecoin.push(settled)
    this.#expect(event, settled.txHash)
  }

  collect(event: string, channel: StoryChannel, by: 'from' | 'recipient'): void {
    const collected = collectChannel({ ...this.#next(), to: channel.channelId, sender: channel[by] })
    this.chains.filecoin.push(collected)
    this.#expect(event, collected.txHash)
  }

  /**
   * Returns the channel of `make`, after another party's channel that comes to nothing: abandoned before or after, or
   * never meant.
   */
  afterRival(recipient: FilecoinIdentity, make: () => StoryChannel): StoryChannel {
    const random = this.#rivals
    if (random === null) return make()
    const { filecoin, offchain } = this.chains
    const isCollateral = this.#role === 'erc20Loans'
    const isMeant = !isCollateral || random.chance(0.7)
    const robust = channelAddress(`${this.loan}/rival`)
    const channelId = `t0${2_000_000 + filecoin.length}`
    const from = person(`rival of ${this.loan}`)
    const value = isMeant ? FIL : '1'
    filecoin.push(makeChannel({ ...this.#next(), channel: robust, channelId, from, recipient, value }))
    if (isCollateral && isMeant && random.chance(0.5)) {
      const secretHash = hash('rival', this.loan)
      const facts = voucherFacts({ key: secretHash.slice(2), channelAddr: robust, secretHash, amount: FIL })
      offchain.push(signedVoucher(robust, from.asWritten, facts))
    }
    const early = random.chance(0.5) ? make() : null
    if (isMeant) {
      filecoin.push(settleChannel({ ...this.#next(), to: robust, sender: from }))
      if (random.chance(0.5)) filecoin.push(collectChannel({ ...this.#next(), to: robust, sender: from }))
    }
    return early ?? make()
  }

  isAwaited(channel: StoryChannel): void {
    this.chains.awaited.push(channel.robust)
  }

  fund(channel: StoryChannel): void {
    this.chains.filecoin.push(fundChannel({ ...this.#next(), to: channel.robust, value: '7' }))
  }
}

interface StoryChannel {
  robust: string
  channelId: string
  from: FilecoinIdentity
  recipient: FilecoinIdentity
}

const FIL = '5000000000000000000'
const TOKEN = '0x00000000000000000000000000000000000000AA'

function lendErc20(story: Story, end: End): void {
  const { borrower, lender, hashes, secrets, evmParties } = story
  const token = { amount: '1', token: TOKEN }
  story.contract({
    kind: 'CreateLoanOffer',
    args: { lender: evmParties.lender, principal: '1', token: TOKEN },
    terms: {
      values: {
        secretHashB1: hashes.b1,
        filLender: hexText(lender.asWritten),
        interest: '1',
        loanExpirationPeriod: '60',
      },
    },
  })
  const channel = story.afterRival(lender, () =>
    story.channel('LendERC20/LockCollateral', 'collateral', borrower, lender, FIL),
  )
  if (end === 'cancelled') {
    story.contract({ kind: 'CancelLoan', args: { ...token, secretB1: secrets.b1 }, terms: { values: {} } })
    story.settle('LendERC20/SettleUnlockCollateral', channel, 'from')
    return story.collect('LendERC20/CollectUnlockCollateral', channel, 'from')
  }
  const seize = story.sign('LendERC20/SignCollateralVoucher', channel, {
    hash: hashes.a1,
    nonce: 0,
    amount: FIL,
    by: 'from',
  })
  if (end === 'open') return story.isAwaited(channel)
  story.contract({
    kind: 'ApproveRequest',
    args: {
      borrower: evmParties.borrower,
      filBorrower: hexText(borrower.asWritten),
      secretHashA1: hashes.a1,
      paymentChannelId: hexText(channel.channelId, 32),
      collateralAmount: FIL,
    },
    terms: { values: { loanExpiration: '1', acceptExpiration: '2' } },
  })
  story.contract({
    kind: 'Withdraw',
    args: { borrower: evmParties.borrower, ...token, secretA1: secrets.a1 },
    terms: { values: {} },
  })
  if (end === 'seized') {
    story.redeem('LendERC20/RedeemSeizeCollateralVoucher', channel, seize, 'recipient', secrets.a1)
    story.settle('LendERC20/SettleSeizeCollateral', channel, 'recipient')
    return story.collect('LendERC20/CollectSeizeCollateral', channel, 'recipient')
  }
  const unlock = story.sign('LendERC20/SignUnlockCollateralVoucher', channel, {
    hash: hashes.b1,
    nonce: 1,
    amount: '0',
    by: 'recipient',
  })
  story.contract({
    kind: 'Payback',
    args: { borrower: evmParties.borrower, ...token },
    terms: { values: {} },
  })
  story.contract({ kind: 'AcceptRepayment', args: { ...token, secretB1: secrets.b1 }, terms: { values: {} } })
  story.fund(channel)
  story.redeem('LendERC20/RedeemUnlockCollateralVoucher', channel, unlock, 'from', secrets.b1)
  story.settle('LendERC20/SettleUnlockCollateral', channel, 'from')
  story.collect('LendERC20/CollectUnlockCollateral', channel, 'from')
}

function lendFil(story: Story, end: End): void {
  const { borrower, lender, hashes, secrets, evmParties } = story
  const collateral = { collateralAmount: '9', token: TOKEN }
  story.contract({
    kind: 'CreateBorrowRequest',
    args: { borrower: evmParties.borrower, ...collateral },
    terms: {
      values: {
        secretHashA1: hashes.a1,
        filBorrower: hexText(borrower.asWritten),
        principalAmount: FIL,
        interestRate: '1',
        loanExpirationPeriod: '60',
      },
    },
  })
  const principal = story.afterRival(borrower, () =>
    story.channel('LendFIL/CreatePaymentChannel', 'principal', lender, borrower, FIL),
  )
  if (end === 'open') return story.isAwaited(principal)
  if (end === 'cancelled') {
    story.contract({
      kind: 'CancelBorrowRequest',
      args: { borrower: evmParties.borrower, ...collateral, secretA1: secrets.a1 },
      terms: { values: {} },
    })
    story.settle('LendFIL/SettleWithdraw', principal, 'from')
    return story.collect('LendFIL/CollectWithdraw', principal, 'from')
  }
  story.contract({
    kind: 'AcceptOffer',
    args: {
      lender: evmParties.lender,
      filLender: hexText(lender.asWritten),
      secretHashB1: hashes.b1,
      paymentChannelId: hexText(principal.channelId, 32),
      principalAmount: FIL,
    },
    terms: { values: { loanExpiration: '1', lockPrice: '1' } },
  })
  const withdraw = story.sign('LendFIL/SignWithdrawVoucher', principal, {
    hash: hashes.a1,
    nonce: 1,
    amount: FIL,
    by: 'from',
  })
  story.redeem('LendFIL/RedeemWithdrawVoucher', principal, withdraw, 'recipient', secrets.a1)
  story.settle('LendFIL/SettleWithdraw', principal, 'recipient')
  story.collect('LendFIL/CollectWithdraw', principal, 'recipient')
  if (end === 'seized') {
    const amounts = { amount: '4', token: TOKEN }
    story.contract({
      kind: 'SeizeCollateral',
      args: { lender: evmParties.lender, ...amounts },
      terms: { values: { liquidationPrice: '1', secretA1: secrets.a1 } },
    })
    return
  }
  const payback = story.channel('LendFIL/PaybackPaymentChannel', 'payback', borrower, lender, FIL)
  const repay = story.sign('LendFIL/SignPaybackVoucher', payback, {
    hash: hashes.b1,
    nonce: 1,
    amount: FIL,
    by: 'from',
  })
  story.redeem('LendFIL/RedeemPaybackVoucher', payback, repay, 'recipient', secrets.b1)
  story.contract({
    kind: 'UnlockCollateral',
    args: { borrower: evmParties.borrower, ...collateral },
    terms: { values: { secretB1: secrets.b1 } },
  })
  story.settle('LendFIL/SettlePayback', payback, 'recipient')
  story.collect('LendFIL/CollectPayback', payback, 'recipient')
}

export function tellStories(seed: number, loans: number, options: StoryOptions = {}): TwoChains {
  const random = seededRandom(seed)
  const chains: TwoChains = { evm: [], filecoin: [], offchain: [], expected: [], awaited: [] }
  const { people, handedIn = 0.5, rivals = false } = options
  const ends: End[] = ['repaid', 'seized', 'cancelled', ...(rivals ? (['open'] as const) : [])]
  const name = (role: string, loan: number): string =>
    people === undefined ? `${role} of ${seed}/${loan}` : `person ${random.below(people)}`
  for (let loan = 1; loan <= loans; loan += 1) {
    const isErc20 = options.market === undefined ? random.chance(0.5) : options.market === 'erc20'
    const anyEnd = ends[random.below(ends.length)] ?? 'repaid'
    const end = options.end ?? anyEnd
    const story = new Story(chains, {
      id: loan,
      role: isErc20 ? 'erc20Loans' : 'erc20CollateralLock',
      startS: START_S + random.below(3600),
      borrower: name('borrower', loan),
      lender: name('lender', loan),
      handedIn: () => random.chance(handedIn),
      rivals: rivals ? random : null,
    })
    if (isErc20) lendErc20(story, end)
    else lendFil(story, end)
  }
  return { ...chains, evm: inChainOrder(chains.evm), filecoin: inChainOrder(chains.filecoin) }
}

/** Sorts blocks and numbers the places within each block anew. */
function inChainOrder<Event extends ChainEvent>(events: Event[]): Event[] {
  return [...events]
    .sort((a, b) => a.blockNumber - b.blockNumber)
    .map((event, logIndex) => ({ ...event, logIndex }))
}
