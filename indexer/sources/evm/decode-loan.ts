import type { AddressText, ContractRole, HexText, UintText } from '../../../shared/events/chain-event.ts'
import { functionLayout, type FunctionLayout } from './contracts.ts'
import { checksummed } from './checksummed.ts'
import { decodeFields, decodeStrictly, type Fields } from './decode-abi.ts'

/** (pure) Decodes the result of `fetchLoan` and the input of a direct call. */

const PARTIES = ['borrower', 'lender', 'filBorrower', 'filLender'] as const
/** A secret is `0x` until it was used. */
const SECRETS = ['secretHashA1', 'secretHashB1', 'secretA1', 'secretB1'] as const
/** The state is a number; see docs/protocol.md, section 2. */
const ENDING = ['paymentChannelId', 'token', 'state'] as const

/**
 * The values of `fetchLoan` in ABI order, with lists flattened. Times are Unix seconds, 0 until approved or accepted; the
 * period is in seconds.
 */
const NAMES = {
  erc20Loans: [
    ...PARTIES,
    ...SECRETS,
    ...(['loanExpiration', 'acceptExpiration', 'loanExpirationPeriod'] as const),
    ...(['principal', 'interest', 'collateral'] as const),
    ...ENDING,
  ],
  erc20CollateralLock: [
    ...PARTIES,
    ...SECRETS,
    ...(['loanExpiration', 'createdAt', 'loanExpirationPeriod'] as const),
    ...(['collateralAmount', 'principalAmount', 'lockPrice', 'liquidationPrice', 'interestRate'] as const),
    ...ENDING,
  ],
} satisfies Record<ContractRole, string[]>

type Texts<Role extends ContractRole> = Record<Exclude<(typeof NAMES)[Role][number], 'state'>, string>

/** A loan on its contract: integers as decimal text, bytes as lower-case hex, addresses checksummed. */
export type LoanState = {
  [Role in ContractRole]: { role: Role; state: number } & Texts<Role>
}[ContractRole]

const FETCH_LOAN: Record<ContractRole, FunctionLayout> = {
  erc20Loans: functionLayout('erc20Loans', 'fetchLoan'),
  erc20CollateralLock: functionLayout('erc20CollateralLock', 'fetchLoan'),
}
const ADDRESSES: readonly string[] = ['borrower', 'lender', 'token']
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** Returns the call data of `fetchLoan` for one loan, as hex. */
export function encodeFetchLoan(role: ContractRole, contractLoanId: UintText): HexText {
  return FETCH_LOAN[role].selector + BigInt(contractLoanId).toString(16).padStart(64, '0')
}

/** Returns null when the contract has no such loan. Throws when the data is not a result of `fetchLoan`. */
export function decodeLoan(role: ContractRole, data: HexText): LoanState | null {
  const values = decodeStrictly(FETCH_LOAN[role].outputs, data)
  if (values[0] === ZERO_ADDRESS && values[1] === ZERO_ADDRESS) return null
  const texts: Record<string, string> = {}
  for (const [index, name] of NAMES[role].entries()) {
    const value = values[index] ?? ''
    texts[name] = ADDRESSES.includes(name) ? checksummed(value) : value
  }
  // The names are those of the role, which the compiler cannot follow.
  return { ...texts, role, state: Number(texts['state']) } as LoanState
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
