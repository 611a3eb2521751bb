/** (pure) One shape for the loans of both markets, so that the views need not know which lookup answered. */
import type {
  ActivityRecord,
  CollateralLock,
  Erc20Loan,
  Erc20LoanAnswer,
  FilCollateral,
  FilLoan,
  FilLoanAnswer,
  FilPayback,
} from '../../../../client/generated/types.gen.ts'
import { erc20Step, filStep, type Step } from '../../../loan-life/steps.ts'
import { filecoinText } from '../../lib/format.ts'

export type Market = 'ERC20' | 'FIL'
export type Actor = 'borrower' | 'lender'
export type ChannelRole = 'collateral' | 'principal' | 'payback'

/** The address of a party on each chain; null while unknown. */
export interface Party {
  evm: string | null
  filecoin: string | null
  /** As the party wrote its Filecoin address into the contract: often another form of the same. */
  written: string | null
}

/** An amount in whole units as exact decimal text, and the fields of the answer that tell it. */
export interface Amount {
  label: string
  value: string | null
  unit: 'token' | 'FIL' | 'rate' | 'price'
  part: string
  field: string
}

export interface Secret {
  name: 'A1' | 'B1'
  owner: Actor
  hash: string | null
  /** Null until a chain has shown the secret; the part that tells it is the contract's, or a channel's. */
  text: string | null
  part: string
}

export interface LinkedChannel {
  role: ChannelRole
  part: string
  id: string | null
  address: string | null
  network: string | null
  amount: string | null
  state: string
  /** The party whose funds it holds. */
  funder: Actor
  settlingAtEpoch: string | null
  /** Unix milliseconds. */
  settlesAt: number | null
  vouchers: string[]
}

/** A moment that a contract or a channel sets, in Unix milliseconds. */
export interface Deadline {
  label: string
  note: string
  at: number
  part: string
  field: string
}

export interface LoanModel {
  market: Market
  id: string
  contract: { name: 'erc20Loan' | 'collateralLock'; address: string | null; state: string }
  blockchain: string | null
  networkId: string | null
  token: string | null
  borrower: Party
  lender: Party
  amounts: Amount[]
  secrets: Secret[]
  channels: LinkedChannel[]
  deadlines: Deadline[]
  /** Seconds that the loan will run; null while unknown. */
  periodS: number | null
  /** The channel that the contract names, as text. */
  namedChannel: string | null
  step: Step
  events: ActivityRecord[]
  eventsTotal: number
  /** The ids of the records that set each field of each part; empty where they were not asked for. */
  explain: Record<string, Record<string, number[]>>
}

export type LoanAnswer = Erc20LoanAnswer | FilLoanAnswer

export function loanModel(answer: LoanAnswer): LoanModel {
  const shared = {
    events: answer.payload.loanEvents,
    eventsTotal: answer.payload.loanEventsTotal,
    explain: answer.explain ?? {},
  }
  if ('erc20Loan' in answer.payload) {
    const { erc20Loan, filCollateral } = answer.payload
    return { ...tokenLoan(erc20Loan, existing(filCollateral)), ...shared }
  }
  const { collateralLock, filLoan, filPayback } = answer.payload
  return { ...filLoanOf(collateralLock, existing(filLoan), existing(filPayback)), ...shared }
}

type Terms = Omit<LoanModel, 'events' | 'eventsTotal' | 'explain'>

function tokenLoan(loan: Erc20Loan, collateral: FilCollateral | null): Terms {
  const part = 'erc20Loan'
  const state = loan.state ?? '0'
  return {
    market: 'ERC20',
    ...contractOf(loan, part, loan.erc20LoansContract, state),
    secrets: secretsOf(loan, part, { filCollateral: collateral }),
    ...partiesOf(loan, collateral),
    amounts: [
      { label: 'Principal', value: loan.principalAmount, unit: 'token', part, field: 'principalAmount' },
      { label: 'Interest', value: loan.interestAmount, unit: 'token', part, field: 'interestAmount' },
      {
        label: 'Collateral',
        value: loan.collateralAmount ?? collateral?.amount ?? null,
        unit: 'FIL',
        part: loan.collateralAmount === null ? 'filCollateral' : part,
        field: loan.collateralAmount === null ? 'amount' : 'collateralAmount',
      },
    ],
    channels: collateral === null ? [] : [channelOf('collateral', 'filCollateral', collateral, 'borrower')],
    deadlines: [
      ...deadline(
        'Repayment due',
        'The borrower can withdraw and pay back until then.',
        loan,
        'loanExpiration',
        part,
      ),
      ...deadline(
        'Payback to accept',
        'The lender can accept the payback until then; afterwards the borrower can take it back.',
        loan,
        'acceptExpiration',
        part,
      ),
      ...settling('collateral', 'filCollateral', collateral),
    ],
    step: erc20Step(state, collateral?.state ?? '-'),
  }
}

function filLoanOf(lock: CollateralLock, principal: FilLoan | null, payback: FilPayback | null): Terms {
  const part = 'collateralLock'
  const state = lock.state ?? '0'
  return {
    market: 'FIL',
    ...contractOf(lock, part, lock.collateralLockContractAddress, state),
    secrets: secretsOf(lock, part, { filLoan: principal, filPayback: payback }),
    ...partiesOf(lock, principal ?? payback),
    amounts: [
      { label: 'Principal', value: lock.principalAmount, unit: 'FIL', part, field: 'principalAmount' },
      { label: 'Interest a year', value: lock.interestRate, unit: 'rate', part, field: 'interestRate' },
      { label: 'Collateral', value: lock.collateralAmount, unit: 'token', part, field: 'collateralAmount' },
      { label: 'Price when locked', value: lock.lockPrice, unit: 'price', part, field: 'lockPrice' },
      {
        label: 'Price when seized',
        value: lock.liquidationPrice,
        unit: 'price',
        part,
        field: 'liquidationPrice',
      },
    ],
    channels: [
      ...(principal === null ? [] : [channelOf('principal', 'filLoan', principal, 'lender')]),
      ...(payback === null ? [] : [channelOf('payback', 'filPayback', payback, 'borrower')]),
    ],
    deadlines: [
      ...deadline(
        'Repayment due',
        'The lender can seize the collateral afterwards.',
        lock,
        'loanExpiration',
        part,
      ),
      ...settling('principal', 'filLoan', principal),
      ...settling('payback', 'filPayback', payback),
    ],
    step: filStep(state, principal?.state ?? '-', payback?.state ?? '-'),
  }
}

/** The answer shows a part that does not exist as `{}`. */
function existing<Part extends object>(part: Part | Record<string, never>): Part | null {
  return 'id' in part ? (part as Part) : null
}

function contractOf(
  loan: Erc20Loan | CollateralLock,
  name: 'erc20Loan' | 'collateralLock',
  address: string | null,
  state: string,
): Pick<Terms, 'id' | 'contract' | 'blockchain' | 'networkId' | 'token' | 'periodS' | 'namedChannel'> {
  return {
    id: loan.id,
    contract: { name, address, state },
    blockchain: loan.blockchain,
    networkId: loan.networkId,
    token: loan.token,
    periodS: loan.loanExpirationPeriod === null ? null : Number(loan.loanExpirationPeriod),
    namedChannel: loan.paymentChannelId === null ? null : filecoinText(loan.paymentChannelId),
  }
}

type Shown = Partial<Record<'secretA1' | 'secretB1', string | null>> | null

/** A secret that only a redemption has shown is in the channel's part alone. */
function secretsOf(
  loan: Erc20Loan | CollateralLock,
  part: string,
  channels: Record<string, Shown>,
): Secret[] {
  const secret = (name: Secret['name'], owner: Actor, hash: string | null): Secret => {
    const field = `secret${name}` as const
    const [found] = Object.entries({ [part]: loan, ...channels }).filter(
      ([, shown]) => shown?.[field] != null,
    )
    return { name, owner, hash, text: found?.[1]?.[field] ?? null, part: found?.[0] ?? part }
  }
  return [secret('A1', 'borrower', loan.secretHashA1), secret('B1', 'lender', loan.secretHashB1)]
}

type Parties = Pick<Erc20Loan, 'borrower' | 'lender' | 'filBorrower' | 'filLender'>

/** The channel knows the robust Filecoin addresses, which outlive a reorg; the contract has what its parties wrote. */
function partiesOf(
  loan: Parties,
  channel: Pick<Parties, 'filBorrower' | 'filLender'> | null,
): Pick<Terms, Actor> {
  const party = (evm: string | null, field: 'filBorrower' | 'filLender'): Party => {
    const written = loan[field] === null ? null : filecoinText(loan[field])
    return { evm, filecoin: channel?.[field] ?? written, written }
  }
  return { borrower: party(loan.borrower, 'filBorrower'), lender: party(loan.lender, 'filLender') }
}

function channelOf(
  role: ChannelRole,
  part: string,
  channel: FilCollateral | FilLoan | FilPayback,
  funder: Actor,
): LinkedChannel {
  const unlock = 'unlockSignedVoucher' in channel ? channel.unlockSignedVoucher : null
  return {
    role,
    part,
    id: channel.paymentChannelId,
    address: channel.paymentChannelAddress,
    network: channel.network,
    amount: 'lockedAmount' in channel ? channel.lockedAmount : channel.amount,
    state: channel.state ?? '0',
    funder,
    settlingAtEpoch: channel.settlingAtHeight,
    settlesAt: milliseconds(channel.settlingAtEstTimestamp),
    vouchers: [channel.signedVoucher, unlock].filter((text) => text !== null),
  }
}

function deadline<Field extends string>(
  label: string,
  note: string,
  loan: Record<Field, string | null>,
  field: Field,
  part: string,
): Deadline[] {
  const at = milliseconds(loan[field])
  return at === null ? [] : [{ label, note, at, part, field }]
}

function settling(
  role: ChannelRole,
  part: string,
  channel: FilCollateral | FilLoan | FilPayback | null,
): Deadline[] {
  const at = milliseconds(channel?.settlingAtEstTimestamp ?? null)
  if (at === null) return []
  const note = `The ${role} channel takes no voucher any more from then on, and can be paid out.`
  return [{ label: `The ${role} channel settles`, note, at, part, field: 'settlingAtEstTimestamp' }]
}

/** The last millisecond that a Date can hold; chains can name later moments. */
const LAST_MS = 8.64e15

function milliseconds(seconds: string | null): number | null {
  const value = seconds === null ? 0 : Number(seconds) * 1000
  return value > 0 && value <= LAST_MS ? value : null
}
