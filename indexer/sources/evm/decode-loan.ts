import type { AddressText, ContractRole, HexText, UintText } from '../../../shared/events/chain-event.ts'
import { functionLayout, type FunctionLayout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { decodeFields, decodeStrictly, hexText, uintText, type Fields } from './decode-abi.ts'
import type { AbiTexts } from './decode-canonical.ts'

/** (pure) Decodes the result of `fetchLoan` and the input of a direct call. */

interface LoanTexts {
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
  /** State number on the contract; see docs/protocol.md, section 2. */
  state: number
}

export interface Erc20LoanState extends LoanTexts {
  role: 'erc20Loans'
  acceptExpiration: UintText
  principal: UintText
  interest: UintText
  collateral: UintText
}

export interface CollateralLockState extends LoanTexts {
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

/** Returns the call data of `fetchLoan` for one loan, as hex. */
export function encodeFetchLoan(role: ContractRole, contractLoanId: UintText): HexText {
  return FETCH_LOAN[role].selector + BigInt(contractLoanId).toString(16).padStart(64, '0')
}

/** Returns null when the contract has no such loan. Throws when the data is not a result of `fetchLoan`. */
export function decodeLoan(role: ContractRole, data: HexText): LoanState | null {
  const said = decodeStrictly(FETCH_LOAN[role].outputs, data)
  if (said.at(0) === ZERO_ADDRESS && said.at(1) === ZERO_ADDRESS) return null
  return role === 'erc20Loans' ? new Erc20LoanSaid(said) : new CollateralLockSaid(said)
}

/**
 * Result of `fetchLoan`, by ABI position with lists flattened. A value is decoded on access, since an event needs two
 * to five of about twenty.
 */
class LoanSaid implements LoanTexts {
  readonly #said: AbiTexts

  constructor(said: AbiTexts) {
    this.#said = said
  }

  get borrower(): AddressText {
    return this.address(0)
  }
  get lender(): AddressText {
    return this.address(1)
  }
  get filBorrower(): HexText {
    return this.hex(2)
  }
  get filLender(): HexText {
    return this.hex(3)
  }
  get secretHashA1(): HexText {
    return this.hex(4)
  }
  get secretHashB1(): HexText {
    return this.hex(5)
  }
  get secretA1(): HexText {
    return this.hex(6)
  }
  get secretB1(): HexText {
    return this.hex(7)
  }
  get loanExpiration(): UintText {
    return this.uint(8)
  }
  get loanExpirationPeriod(): UintText {
    return this.uint(10)
  }
  get paymentChannelId(): HexText {
    return this.hex(this.#said.length - 3)
  }
  get token(): AddressText {
    return this.address(this.#said.length - 2)
  }
  get state(): number {
    return Number(this.uint(this.#said.length - 1))
  }

  protected uint(place: number): UintText {
    return uintText(this.#said.at(place))
  }

  protected hex(place: number): HexText {
    return hexText(this.#said.at(place))
  }

  protected address(place: number): AddressText {
    return checksummed(this.hex(place))
  }
}

class Erc20LoanSaid extends LoanSaid implements Erc20LoanState {
  get role(): 'erc20Loans' {
    return 'erc20Loans'
  }
  get acceptExpiration(): UintText {
    return this.uint(9)
  }
  get principal(): UintText {
    return this.uint(11)
  }
  get interest(): UintText {
    return this.uint(12)
  }
  get collateral(): UintText {
    return this.uint(13)
  }
}

class CollateralLockSaid extends LoanSaid implements CollateralLockState {
  get role(): 'erc20CollateralLock' {
    return 'erc20CollateralLock'
  }
  get createdAt(): UintText {
    return this.uint(9)
  }
  get collateralAmount(): UintText {
    return this.uint(11)
  }
  get principalAmount(): UintText {
    return this.uint(12)
  }
  get lockPrice(): UintText {
    return this.uint(13)
  }
  get liquidationPrice(): UintText {
    return this.uint(14)
  }
  get interestRate(): UintText {
    return this.uint(15)
  }
}

/** Fields of a transaction that terms are read from, in lower-case hex. */
export interface TransactionInput {
  from: HexText
  to: HexText | null
  input: HexText
}

/** Returns the arguments of a direct call of the contract's function, or the reason why there are none. */
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
