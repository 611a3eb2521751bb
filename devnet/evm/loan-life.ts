import { filPrice, type Deployment } from './deploy.ts'
import { bytesText, channelIdBytes, filecoinAddressFor, namedSecret, secretHash } from './loan-texts.ts'
import { delegatedAddressOf, type Cast } from '../loans/cast.ts'
import { newHalf, type FilecoinHalf } from '../loans/filecoin-half.ts'
import { partyTexts } from '../loans/party-texts.ts'
import type { Random } from './random.ts'

export const markets = ['erc20Loans', 'erc20CollateralLock'] as const
export type Market = (typeof markets)[number]

/** The planned course of a loan. The chain's time or a reorg can force another one. */
export type Plan = 'repay' | 'refund' | 'seize' | 'cancel' | 'cancelApproved' | 'default' | 'leaveOpen'

/** Played in turn, so that all kinds of events come soon; the repetitions make repaid loans the most common. */
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

/** One loan as the player knows it. All other facts are read from the contract before each move. */
export interface Life {
  market: Market
  plan: Plan
  /** Undefined until the contract assigns it. */
  loanId: bigint | undefined
  lender: string
  borrower: string
  secrets: { a1: Uint8Array; b1: Uint8Array }
  hashes: { a1: string; b1: string }
  /** Hex bytes, as passed to the contract. */
  filLender: string
  filBorrower: string
  paymentChannelId: string
  token: string
  /** The token's smallest units: lent (ERC20) or locked (FIL). */
  tokenAmount: bigint
  interest: bigint
  /** attoFIL: locked (ERC20) or lent (FIL). */
  filAmount: bigint
  /** A fraction with 18 decimals. */
  interestRate: bigint
  /** Seconds. */
  loanExpirationPeriod: number
  /** Set after a failure in a batch: the next move goes alone. */
  alone: boolean
  /** The loan's Filecoin half; undefined for a loan on the EVM chain alone. */
  half: FilecoinHalf | undefined
}

export interface LifeSource {
  deployment: Deployment
  random: Random
  seed: string
  /** The probability that a text in a loan is garbage. */
  hostility: number
  badTokens: boolean
  /** All Filecoin wallets; undefined: loans are played on the EVM chain alone. */
  cast: Cast | undefined
}

export function newLife(source: LifeSource, market: Market, plan: Plan, secretNumber: number): Life {
  const { random, seed } = source
  const parties = chooseParties(source)
  const usual = {
    a1: secretFor(seed, market, 'A1', secretNumber),
    b1: secretFor(seed, market, 'B1', secretNumber),
  }
  const secrets = { a1: maybeHostile(source, usual.a1), b1: maybeHostile(source, usual.b1) }
  const ownWallets = plan === 'cancel' || plan === 'leaveOpen' || plan === 'seize'
  const half = newHalf({ seed, market, number: secretNumber, ...parties, ownWallets })
  const texts = filecoinTexts(source, half, plan, parties)
  const isPlain = texts.arePlain && secrets.a1 === usual.a1 && secrets.b1 === usual.b1
  return {
    ...{ market, plan, ...parties, secrets, loanId: undefined, alone: false },
    hashes: { a1: secretHash(secrets.a1), b1: secretHash(secrets.b1) },
    ...(isPlain ? texts.usual : texts.written),
    paymentChannelId: channelId(source),
    ...newTerms(source),
    loanExpirationPeriod:
      plan === 'seize' || plan === 'refund' ? random.int(30, 60) : random.int(1, 72) * 3600,
    // A party that writes garbage into a contract has no matching part on Filecoin.
    half: source.cast !== undefined && isPlain ? half : undefined,
  }
}

type Parties = Pick<Life, 'lender' | 'borrower'>

function chooseParties({ deployment, random }: LifeSource): Parties {
  const people = deployment.accounts.slice(1)
  const half = Math.floor(people.length / 2)
  const lender = random.chance(0.3) ? deployment.batcher : random.pick(people.slice(0, half))
  const borrower = random.chance(0.3) ? deployment.borrowerBatcher : random.pick(people.slice(half))
  return { lender, borrower }
}

type FilecoinTexts = Pick<Life, 'filLender' | 'filBorrower'>

/** Returns the usual texts, and those to write where a text of the loan is garbage: these belong to no wallet. */
function filecoinTexts(
  source: LifeSource,
  half: FilecoinHalf,
  plan: Plan,
  parties: Parties,
): { usual: FilecoinTexts; written: FilecoinTexts; arePlain: boolean } {
  const { cast } = source
  const { lender, borrower } = parties
  const usual =
    cast === undefined
      ? { lender: filecoinAddressFor(lender), borrower: filecoinAddressFor(borrower) }
      : partyTexts(cast, half, { plan, lender, borrower })
  const strangers =
    cast === undefined
      ? usual
      : { lender: delegatedAddressOf(lender), borrower: delegatedAddressOf(borrower) }
  const write = (role: 'lender' | 'borrower'): { text: string; isPlain: boolean } => {
    const bytes = new TextEncoder().encode(strangers[role])
    const written = maybeHostile(source, bytes)
    return { text: bytesText(written), isPlain: written === bytes }
  }
  const [writtenLender, writtenBorrower] = [write('lender'), write('borrower')]
  return {
    usual: { filLender: textBytes(usual.lender), filBorrower: textBytes(usual.borrower) },
    written: { filLender: writtenLender.text, filBorrower: writtenBorrower.text },
    arePlain: writtenLender.isPlain && writtenBorrower.isPlain,
  }
}

/** Derives the secret with this number, so an interrupted player finds the secrets of its loans again. */
export function secretFor(seed: string, market: Market, owner: 'A1' | 'B1', number: number): Uint8Array {
  return namedSecret(`${seed}/${market}/${owner}/${number}`)
}

type Terms = Pick<Life, 'token' | 'tokenAmount' | 'interest' | 'filAmount' | 'interestRate'>

function newTerms({ deployment, random, badTokens }: LifeSource): Terms {
  const bad = badTokens && random.chance(0.1)
  const token = random.pick(Object.values(bad ? deployment.badTokens : deployment.tokens))
  const unit = token === deployment.tokens.six ? 10n ** 6n : 10n ** 18n
  // Amounts use all decimal places, so a lost digit shows.
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

function textBytes(text: string): string {
  return bytesText(new TextEncoder().encode(text))
}

/** The ID of no channel: a loan with a Filecoin half gets its channel's ID later. */
function channelId({ random, hostility, cast }: LifeSource): string {
  const first = cast === undefined ? 1000 : 900_000_000
  return random.chance(hostility)
    ? bytesText(random.bytes(32))
    : channelIdBytes(random.int(first, first + 9_998_999))
}

/** Anyone may write any text: none at all, zero bytes, broken UTF-8, a very long one. */
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
