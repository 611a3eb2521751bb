import { formatUnits } from 'viem'

type Hex = `0x${string}`

/** The answer of `fetchLoan`, of either contract. */
export type FetchedLoan = readonly [
  actors: readonly Hex[],
  filAddresses: readonly Hex[],
  secretHashes: readonly Hex[],
  secrets: readonly Hex[],
  expirations: readonly bigint[],
  details: readonly bigint[],
  paymentChannelId: Hex,
  token: Hex,
  state: number,
]

/** An event's parameters; each kind has some of them. */
interface Args {
  loanId: bigint
  borrower: Hex
  lender: Hex
  filBorrower: Hex
  filLender: Hex
  secretHashA1: Hex
  secretHashB1: Hex
  secretA1: Hex
  secretB1: Hex
  paymentChannelId: Hex
  principal: bigint
  collateralAmount: bigint
  principalAmount: bigint
  token: Hex
}

/** Data that the events do not carry. */
export interface Reads {
  /** Reads at the event's block. */
  fetchLoan: () => Promise<FetchedLoan>
  decimals: (token: Hex) => Promise<number>
}

type Columns = Record<string, string>

const OTHER_DECIMALS = 18
const whole = (amount: bigint | undefined): string => formatUnits(amount ?? 0n, OTHER_DECIMALS)
const told = (value: bigint | Hex | undefined): string => String(value)

/** Returns the columns of a new loan; undefined where the event creates none. */
export async function newLoan(kind: string, args: Args, reads: Reads): Promise<Columns | undefined> {
  if (kind !== 'CreateLoanOffer' && kind !== 'CreateBorrowRequest') return undefined
  const { contractLoanId, token } = { contractLoanId: String(args.loanId), token: args.token }
  const [[, filAddresses, hashes, , expirations, details], decimals] = await Promise.all([
    reads.fetchLoan(),
    reads.decimals(token),
  ])
  const shared = { contractLoanId, token, state: '0', loanExpirationPeriod: told(expirations[2]) }
  return kind === 'CreateLoanOffer'
    ? {
        ...shared,
        lender: args.lender,
        filLender: told(filAddresses[1]),
        secretHashB1: told(hashes[1]),
        principalAmount: formatUnits(args.principal, decimals),
        interestAmount: formatUnits(details[1] ?? 0n, decimals),
      }
    : {
        ...shared,
        borrower: args.borrower,
        filBorrower: told(filAddresses[0]),
        secretHashA1: told(hashes[0]),
        collateralAmount: formatUnits(args.collateralAmount, decimals),
        principalAmount: whole(details[1]),
        interestRate: whole(details[4]),
      }
}

/** Returns the columns that a loan's event changes; undefined where it changes none. */
export async function changeOf(kind: string, args: Args, reads: Reads): Promise<Columns | undefined> {
  switch (kind) {
    case 'ApproveRequest': {
      const [, , , , expirations] = await reads.fetchLoan()
      const { borrower, filBorrower, secretHashA1, paymentChannelId } = args
      return {
        ...{ borrower, filBorrower, secretHashA1, paymentChannelId, state: '1' },
        collateralAmount: whole(args.collateralAmount),
        loanExpiration: told(expirations[0]),
        acceptExpiration: told(expirations[1]),
      }
    }
    case 'AcceptOffer': {
      const [, , , , expirations, details] = await reads.fetchLoan()
      const { lender, filLender, secretHashB1, paymentChannelId } = args
      return {
        ...{ lender, filLender, secretHashB1, paymentChannelId, state: '1' },
        principalAmount: whole(args.principalAmount),
        loanExpiration: told(expirations[0]),
        lockPrice: whole(details[2]),
      }
    }
    case 'SeizeCollateral': {
      const [, , , secrets, , details] = await reads.fetchLoan()
      return { secretA1: told(secrets[0]), liquidationPrice: whole(details[3]), state: '2' }
    }
    case 'UnlockCollateral': {
      const [, , , secrets] = await reads.fetchLoan()
      return { secretB1: told(secrets[1]), state: '3' }
    }
    case 'Withdraw':
      return { secretA1: args.secretA1, state: '2' }
    case 'Payback':
      return { state: '3' }
    case 'RefundPayback':
      return { state: '4' }
    case 'AcceptRepayment':
      return { secretB1: args.secretB1, state: '5' }
    case 'CancelLoan':
      return { secretB1: args.secretB1, state: '6' }
    case 'CancelBorrowRequest':
      return { secretA1: args.secretA1, state: '4' }
    default:
      return undefined
  }
}
