import { createRandom, type Random } from '../evm/random.ts'

/** Which of a loan's payment channels: an ERC20 loan has the first, a FIL loan the other two. */
export type ChannelRole = 'collateral' | 'principal' | 'payback'
export type VoucherRole = 'seize' | 'unlock' | 'withdraw' | 'payback'
/** How the service hears of a voucher. By redemption it hears of each in the end. */
export type VoucherWay = 'redemption' | 'node-store' | 'handed-in'

/** How a loan's Filecoin half is meant to go: drawn from a stream of the loan's own, the same after a restart. */
export interface Choices {
  /** How far Filecoin goes for a loan that is never agreed on. */
  beforeAgreement: 'nothing' | 'channel' | 'signed'
  /** The channel is opened by somebody else, in the parties' names. */
  madeByThird: boolean
  /** A tenth of the channel's funds comes later, by a plain send. */
  toppedUp: boolean
  /** Messages and vouchers name the channel by its ID. */
  byId: boolean
  firstNonce: 0n | 1n
  ways: Record<VoucherRole, VoucherWay>
  settledByOther: boolean
  /** What goes wrong on the way, without doing anything. */
  mistake: 'none' | 'wrong-secret' | 'stale-voucher' | 'early-collect'
  /** The borrower of a cancelled loan redeems the unlock voucher before the channel is settled. */
  unlockAfterCancel: boolean
  /** The borrower of a seized collateral had opened a payback channel, and takes it back. */
  paybackInVain: boolean
}

export interface Voucher {
  /** The robust address of the channel it is for. */
  channel: string
  /** Standard base64. */
  text: string
}

/** A message that was sent for a step, and those that it replaces because they failed or got lost. */
export interface Act {
  cid: string
  earlier: string[]
  /** The chain's height when it was sent. */
  sentAt: number
}

/** What the player knows of a loan's Filecoin half. Plain data, so that it survives a restart. */
export interface FilecoinHalf {
  choices: Choices
  /** Names of wallets. */
  lender: string
  borrower: string
  third: string
  /** What the payback has more than the principal, in hundredths of a percent. */
  paybackRate: number
  /** By the step's name. */
  acts: Record<string, Act>
  vouchers: Partial<Record<VoucherRole, Voucher>>
}

export interface Casting {
  seed: string
  market: string
  /** The loan's own number, from which its secrets come as well. */
  number: number
  lender: string
  borrower: string
  /** The loan may never be agreed on: its parties must be told by their wallets alone. */
  ownWallets: boolean
}

export function newHalf(casting: Casting): FilecoinHalf {
  const { seed, market, number, ownWallets } = casting
  const random = createRandom(`${seed}/${market}/filecoin/${number}`)
  const own = ownWallets ? `/${seed}/${market}/${number}` : ''
  return {
    choices: choose(random),
    lender: `lender/${casting.lender}${own === '' ? `/${random.int(0, 1)}` : own}`,
    borrower: `borrower/${casting.borrower}${own === '' ? `/${random.int(0, 1)}` : own}`,
    third: `third/${random.int(0, 2)}`,
    paybackRate: random.int(1, 1200),
    acts: {},
    vouchers: {},
  }
}

function choose(random: Random): Choices {
  const way = (): VoucherWay => random.pick(['redemption', 'node-store', 'handed-in'])
  return {
    beforeAgreement: random.pick(['nothing', 'channel', 'signed', 'signed']),
    madeByThird: random.chance(0.15),
    toppedUp: random.chance(0.15),
    byId: random.chance(0.3),
    firstNonce: random.chance(0.5) ? 0n : 1n,
    ways: { seize: way(), unlock: way(), withdraw: way(), payback: way() },
    settledByOther: random.chance(0.2),
    mistake: random.chance(0.3) ? random.pick(['wrong-secret', 'stale-voucher', 'early-collect']) : 'none',
    unlockAfterCancel: random.chance(0.5),
    paybackInVain: random.chance(0.4),
  }
}
