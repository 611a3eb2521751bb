import { createRandom, type Random } from '../evm/random.ts'

/** Role of a loan's payment channel: an ERC20 loan has the first, a FIL loan the other two. */
export type ChannelRole = 'collateral' | 'principal' | 'payback'
export type VoucherRole = 'seize' | 'unlock' | 'withdraw' | 'payback'
/** How the service first learns of a voucher. A redemption reveals each of them in the end. */
export type VoucherWay = 'redemption' | 'node-store' | 'handed-in'

/**
 * The planned course of a loan's Filecoin half, drawn from the loan's own random stream and so stable over restarts.
 */
export interface Choices {
  /** How far the Filecoin half goes before the loan is agreed on, even if it never is. */
  beforeAgreement: 'nothing' | 'channel' | 'signed'
  /** An outsider opens the channel in the parties' names. */
  madeByThird: boolean
  /** A tenth of the channel's funds arrives later by a plain send. */
  toppedUp: boolean
  /** Messages and vouchers name the channel by its ID. */
  byId: boolean
  firstNonce: 0n | 1n
  ways: Record<VoucherRole, VoucherWay>
  settledByOther: boolean
  /** A mistake on the way that has no effect. */
  mistake: 'none' | 'wrong-secret' | 'stale-voucher' | 'early-collect'
  /** The borrower of a cancelled loan redeems the unlock voucher before the channel is settled. */
  unlockAfterCancel: boolean
  /** The borrower of a seized collateral had opened a payback channel, and takes it back. */
  paybackInVain: boolean
}

export interface Voucher {
  /** The robust address of its channel. */
  channel: string
  /** Standard base64. */
  text: string
}

/** A message sent for a step, and the failed or lost messages that it replaces. */
export interface Act {
  cid: string
  earlier: string[]
  /** The chain's height at sending. */
  sentAt: number
}

/** The player's notes on a loan's Filecoin half. Plain data, so that it survives a restart. */
export interface FilecoinHalf {
  choices: Choices
  /** Names of wallets. */
  lender: string
  borrower: string
  third: string
  /** Excess of the payback over the principal, in hundredths of a percent. */
  paybackRate: number
  /** Keyed by step name. */
  acts: Record<string, Act>
  vouchers: Partial<Record<VoucherRole, Voucher>>
}

export interface Casting {
  seed: string
  market: string
  /** The loan's own number, which also derives its secrets. */
  number: number
  lender: string
  borrower: string
  /** Set when the loan may never be agreed on: its parties must then be identified by their wallets alone. */
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
