import { filPrice, type Deployment } from './deploy.ts'
import { bytesText, channelIdBytes, filecoinAddressFor, namedSecret, secretHash } from './loan-texts.ts'
import type { Cast } from '../loans/cast.ts'
import { newHalf, type FilecoinHalf } from '../loans/filecoin-half.ts'
import { partyTexts } from '../loans/party-texts.ts'
import type { Random } from './random.ts'

export const markets = ['erc20Loans', 'erc20CollateralLock'] as const
export type Market = (typeof markets)[number]

/** How a loan is meant to go. Where the chain's time or a reorg comes between, it goes as it still can. */
export type Plan = 'repay' | 'refund' | 'seize' | 'cancel' | 'cancelApproved' | 'default' | 'leaveOpen'

/** Played in turn, so that all kinds of events come soon; the repetitions make repaid loans the usual ones. */
export const repertoire: readonly (readonly [Market, Plan])[] = [
  ['erc20Loans', 'refund'],
  ['erc20CollateralLock', 'seize'],
  ['erc20Loans', 'repay'],
  ['erc20CollateralLock', 'repay'],
  ['erc20Loans', 'cancel'],
  ['erc20CollateralLock', 'cancel'],
  ['erc20Loans', 'repay'],
  ['erc20CollateralLock', 'repay'],
  ['erc20Loans', 'cancelApproved'],
  ['erc20Loans', 'repay'],
  ['erc20CollateralLock', 'repay'],
  ['erc20Loans', 'default'],
  ['erc20CollateralLock', 'leaveOpen'],
  ['erc20Loans', 'repay'],
  ['erc20Loans', 'leaveOpen'],
  ['erc20CollateralLock', 'repay'],
]

/** One loan as the player knows it. Everything else is read from the contract before each move. */
export interface Life {
  market: Market
  plan: Plan
  /** Undefined until the contract gave it. */
  loanId: bigint | undefined
  lender: string
  borrower: string
  secrets: { a1: Uint8Array; b1: Uint8Array }
  hashes: { a1: string; b1: string }
  /** Hex bytes, as given to the contract. */
  filLender: string
  filBorrower: string
  paymentChannelId: string
  token: string
  /** In the token's smallest units: what is lent (ERC20) or locked (FIL). */
  tokenAmount: bigint
  interest: bigint
  /** In attoFIL: what is locked (ERC20) or lent (FIL). */
  filAmount: bigint
  /** With 18 decimals. */
  interestRate: bigint
  /** Seconds. */
  loanExpirationPeriod: number
  /** Its move failed in a batch: the next one goes alone. */
  alone: boolean
  /** What is played of it on Filecoin; undefined for a loan that is on the EVM chain alone. */
  half: FilecoinHalf | undefined
}

export interface LifeSource {
  deployment: Deployment
  random: Random
  seed: string
  /** The probability that a text in a loan is garbage. */
  hostility: number
  badTokens: boolean
  /** Everybody's Filecoin wallets; undefined: loans are played on the EVM chain alone. */
  cast: Cast | undefined
}

export function newLife(source: LifeSource, market: Market, plan: Plan, secretNumber: number): Life {
  const { deployment, random } = source
  const people = deployment.accounts.slice(1)
  const half = Math.floor(people.length / 2)
  const lender = random.chance(0.3) ? deployment.batcher : random.pick(people.slice(0, half))
  const borrower = random.chance(0.3) ? deployment.borrowerBatcher : random.pick(people.slice(half))
  const usual = {
    a1: secretFor(source.seed, market, 'A1', secretNumber),
    b1: secretFor(source.seed, market, 'B1', secretNumber),
  }
  const secrets = { a1: maybeHostile(source, usual.a1), b1: maybeHostile(source, usual.b1) }
  const ownWallets = plan === 'cancel' || plan === 'leaveOpen' || plan === 'seize'
  const filecoinHalf = newHalf({
    seed: source.seed,
    market,
    number: secretNumber,
    lender,
    borrower,
    ownWallets,
  })
  const texts =
    source.cast === undefined
      ? { lender: filecoinAddressFor(lender), borrower: filecoinAddressFor(borrower) }
      : partyTexts(source.cast, filecoinHalf, { plan, lender, borrower })
  const filLender = filecoinText(source, texts.lender)
  const filBorrower = filecoinText(source, texts.borrower)
  // Who writes garbage into a contract has no part on Filecoin that belongs to the loan.
  const isPlain =
    [secrets.a1 === usual.a1, secrets.b1 === usual.b1].every(Boolean) &&
    filLender === textBytes(texts.lender) &&
    filBorrower === textBytes(texts.borrower)
  return {
    ...{ market, plan, lender, borrower, secrets, loanId: undefined, alone: false },
    hashes: { a1: secretHash(secrets.a1), b1: secretHash(secrets.b1) },
    ...{ filLender, filBorrower },
    paymentChannelId: channelId(source),
    ...newTerms(source),
    loanExpirationPeriod:
      plan === 'seize' || plan === 'refund' ? random.int(30, 60) : random.int(1, 72) * 3600,
    half: source.cast !== undefined && isPlain ? filecoinHalf : undefined,
  }
}

/** The secret with this number: an interrupted player finds the secrets of its loans again. */
export function secretFor(seed: string, market: Market, owner: 'A1' | 'B1', number: number): Uint8Array {
  return namedSecret(`${seed}/${market}/${owner}/${number}`)
}

type Terms = Pick<Life, 'token' | 'tokenAmount' | 'interest' | 'filAmount' | 'interestRate'>

function newTerms({ deployment, random, badTokens }: LifeSource): Terms {
  const bad = badTokens && random.chance(0.1)
  const token = random.pick(Object.values(bad ? deployment.badTokens : deployment.tokens))
  const unit = token === deployment.tokens.six ? 10n ** 6n : 10n ** 18n
  // Amounts use all decimal places: a digit lost anywhere shows.
  const attoFil =
    BigInt(random.int(1, 2000)) * 10n ** 18n + BigInt(random.int(0, 999_999_999)) * 1_000_000_007n
  const worth = (((attoFil * filPrice) / 10n ** 18n) * unit) / 10n ** 18n
  const tokenAmount = (worth * BigInt(random.int(150, 250))) / 100n + BigInt(random.int(1, 999))
  return {
    token,
    tokenAmount,
    interest: (tokenAmount * BigInt(random.int(1, 1200))) / 10_000n,
    filAmount: attoFil,
    interestRate: BigInt(random.int(1, 1200)) * 10n ** 14n,
  }
}

function filecoinText(source: LifeSource, text: string): string {
  return bytesText(maybeHostile(source, new TextEncoder().encode(text)))
}

function textBytes(text: string): string {
  return bytesText(new TextEncoder().encode(text))
}

/** That of no channel: a loan with a Filecoin half learns its channel's later. */
function channelId({ random, hostility, cast }: LifeSource): string {
  const first = cast === undefined ? 1000 : 900_000_000
  return random.chance(hostility)
    ? bytesText(random.bytes(32))
    : channelIdBytes(random.int(first, first + 9_998_999))
}

/** Anyone may write anything: nothing at all, zero bytes, broken UTF-8, a wall of text. */
function maybeHostile({ random, hostility }: LifeSource, usual: Uint8Array): Uint8Array {
  if (!random.chance(hostility)) return usual
  return random.pick([
    () => new Uint8Array(),
    () => new Uint8Array(random.int(1, 40)),
    () => random.bytes(random.int(1, 300)),
    () => new TextEncoder().encode(`t1${'<script>\u0000\ud83d\ude00"\\'.repeat(random.int(1, 20))}`),
    () => usual.slice(0, -1),
  ])()
}
