import type { AddressText, ContractRole, HexText, UintText } from '../../../shared/events/chain-event.ts'
import { functionLayout, type FunctionLayout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { decodeFields, decodeStrictly, hexText, uintText, type Fields } from './decode-abi.ts'
import type { AbiValue } from './decode-canonical.ts'

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
  const [actors, fil, hashes, secrets, expirations, details, channel, token, state] = decodeStrictly(
    FETCH_LOAN[role].outputs,
    data,
  )
  const base = {
    borrower: checksummed(hexText(item(actors, 0))),
    lender: checksummed(hexText(item(actors, 1))),
    filBorrower: hexText(item(fil, 0)),
    filLender: hexText(item(fil, 1)),
    secretHashA1: hexText(item(hashes, 0)),
    secretHashB1: hexText(item(hashes, 1)),
    secretA1: hexText(item(secrets, 0)),
    secretB1: hexText(item(secrets, 1)),
    loanExpiration: uintText(item(expirations, 0)),
    loanExpirationPeriod: uintText(item(expirations, 2)),
    paymentChannelId: hexText(channel),
    token: checksummed(hexText(token)),
    state: Number(uintText(state)),
  }
  if (base.borrower === ZERO_ADDRESS && base.lender === ZERO_ADDRESS) return null
  return role === 'erc20Loans'
    ? {
        ...base,
        role,
        acceptExpiration: uintText(item(expirations, 1)),
        principal: uintText(item(details, 0)),
        interest: uintText(item(details, 1)),
        collateral: uintText(item(details, 2)),
      }
    : {
        ...base,
        role,
        createdAt: uintText(item(expirations, 1)),
        collateralAmount: uintText(item(details, 0)),
        principalAmount: uintText(item(details, 1)),
        lockPrice: uintText(item(details, 2)),
        liquidationPrice: uintText(item(details, 3)),
        interestRate: uintText(item(details, 4)),
      }
}

function item(list: AbiValue | undefined, index: number): AbiValue | undefined {
  if (Array.isArray(list)) return list[index]
  throw new TypeError('not a list')
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
