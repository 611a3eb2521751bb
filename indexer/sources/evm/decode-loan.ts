import type { AddressText, ContractRole, HexText, UintText } from '../../../shared/events/chain-event.ts'
import { functionLayout, type FunctionLayout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { decodeFields, decodeStrictly, hexText, uintText, type Fields } from './decode-abi.ts'

/** (pure) What `fetchLoan` answers and what a direct call's input says. */

interface LoanStateBase {
  borrower: AddressText
  lender: AddressText
  filBorrower: HexText
  filLender: HexText
  secretHashA1: HexText
  secretHashB1: HexText
  /** `0x` until the secret was used. */
  secretA1: HexText
  secretB1: HexText
  /** Unix seconds; 0 until approved or accepted. */
  loanExpiration: UintText
  /** Seconds. */
  loanExpirationPeriod: UintText
  paymentChannelId: HexText
  token: AddressText
  /** As on the contract. */
  state: number
}

export interface Erc20LoanState extends LoanStateBase {
  role: 'erc20Loans'
  acceptExpiration: UintText
  principal: UintText
  interest: UintText
  collateral: UintText
}

export interface CollateralLockState extends LoanStateBase {
  role: 'erc20CollateralLock'
  createdAt: UintText
  collateralAmount: UintText
  principalAmount: UintText
  lockPrice: UintText
  liquidationPrice: UintText
  interestRate: UintText
}

export type LoanState = Erc20LoanState | CollateralLockState

const FETCH_LOAN: Record<ContractRole, FunctionLayout> = {
  erc20Loans: functionLayout('erc20Loans', 'fetchLoan'),
  erc20CollateralLock: functionLayout('erc20CollateralLock', 'fetchLoan'),
}
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

export function encodeFetchLoan(role: ContractRole, contractLoanId: UintText): HexText {
  return FETCH_LOAN[role].selector + BigInt(contractLoanId).toString(16).padStart(64, '0')
}

/** Null when the contract has no such loan. Throws when the data is not what `fetchLoan` returns. */
export function decodeLoan(role: ContractRole, data: HexText): LoanState | null {
  const next = new Outputs(decodeStrictly(FETCH_LOAN[role].outputs, data))
  const loan = role === 'erc20Loans' ? erc20Loan(next) : collateralLock(next)
  return loan.borrower === ZERO_ADDRESS && loan.lender === ZERO_ADDRESS ? null : loan
}

/** In the order of the ABI. Written out for each contract: shared fields that are spread into it take three times as long. */
function erc20Loan(next: Outputs): Erc20LoanState {
  return {
    role: 'erc20Loans',
    borrower: next.address(),
    lender: next.address(),
    filBorrower: next.hex(),
    filLender: next.hex(),
    secretHashA1: next.hex(),
    secretHashB1: next.hex(),
    secretA1: next.hex(),
    secretB1: next.hex(),
    loanExpiration: next.uint(),
    acceptExpiration: next.uint(),
    loanExpirationPeriod: next.uint(),
    principal: next.uint(),
    interest: next.uint(),
    collateral: next.uint(),
    paymentChannelId: next.hex(),
    token: next.address(),
    state: Number(next.uint()),
  }
}

/** As {@link erc20Loan}. */
function collateralLock(next: Outputs): CollateralLockState {
  return {
    role: 'erc20CollateralLock',
    borrower: next.address(),
    lender: next.address(),
    filBorrower: next.hex(),
    filLender: next.hex(),
    secretHashA1: next.hex(),
    secretHashB1: next.hex(),
    secretA1: next.hex(),
    secretB1: next.hex(),
    loanExpiration: next.uint(),
    createdAt: next.uint(),
    loanExpirationPeriod: next.uint(),
    collateralAmount: next.uint(),
    principalAmount: next.uint(),
    lockPrice: next.uint(),
    liquidationPrice: next.uint(),
    interestRate: next.uint(),
    paymentChannelId: next.hex(),
    token: next.address(),
    state: Number(next.uint()),
  }
}

/** What a function returned, value by value. */
class Outputs {
  readonly #values: readonly string[]
  #read = 0

  constructor(values: readonly string[]) {
    this.#values = values
  }

  uint(): UintText {
    return uintText(this.#next())
  }

  hex(): HexText {
    return hexText(this.#next())
  }

  address(): AddressText {
    return checksummed(this.hex())
  }

  #next(): string | undefined {
    const value = this.#values[this.#read]
    this.#read += 1
    return value
  }
}

/** What a transaction did, as far as terms can be read from it. */
export interface TransactionInput {
  from: HexText
  to: HexText | null
  input: HexText
}

/** The arguments of a direct call of the contract's function, or the reason why there are none. */
export function decodeDirectCall(
  role: ContractRole,
  contract: AddressText,
  functionName: 'createLoanOffer' | 'createBorrowRequest' | 'unlockCollateral' | 'seizeCollateral',
  transaction: TransactionInput,
): Fields | string {
  const layout = functionLayout(role, functionName)
  if (transaction.to !== contract.toLowerCase()) return 'the transaction is no direct call of the contract'
  if (!transaction.input.startsWith(layout.selector)) return `the transaction does not call ${functionName}`
  try {
    return decodeFields(layout, `0x${transaction.input.slice(layout.selector.length)}`)
  } catch {
    return `the input of ${functionName} does not decode`
  }
}
