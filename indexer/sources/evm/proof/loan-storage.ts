import type { ContractRole, UintText } from '../../../../shared/events/chain-event.ts'
import { checksummed } from '../checksummed.ts'
import type { LoanState } from '../decode-loan.ts'
import { keccakText } from './keccak.ts'

/**
 * (pure) Where the loan contracts keep a loan, by Solidity's rules for storage: state variable 0 is the mapping of loans,
 * state variable 1 the counter of loans. A test holds this equal to the compiler's `storageLayout`.
 */

/** Bytes of a value in its slot. `bytes` of 32 and more are kept elsewhere, and the slot says how many. */
const SIZES = { address: 20, uint64: 8, enum: 1, uint256: 32, bytes32: 32, bytes: 32 } as const
type Kind = keyof typeof SIZES

const LOANS_SLOT = 0n
const COUNTER_SLOT = 1n
/** Reasons why a loan is not known. */
export const NO_SUCH_LOAN = 'the contract has no such loan'
export const TOO_LONG = 'the loan has a value that is too long to be read'
/** Far above a real address or secret, though anyone can register longer ones. It bounds what is asked for. */
const MOST_BYTES = 8 * 1024

const FIELDS: Record<ContractRole, readonly (readonly [name: string, kind: Kind])[]> = {
  erc20Loans: [
    ...times('acceptExpiration'),
    ...texts(),
    ['principal', 'uint256'],
    ['interest', 'uint256'],
    ['collateral', 'uint256'],
    ['paymentChannelId', 'bytes32'],
  ],
  erc20CollateralLock: [
    ...times('createdAt'),
    ...texts(),
    ['collateralAmount', 'uint256'],
    ['principalAmount', 'uint256'],
    ['lockPrice', 'uint256'],
    ['liquidationPrice', 'uint256'],
    ['interestRate', 'uint256'],
    ['paymentChannelId', 'bytes32'],
  ],
}

function times(ownTime: string): [string, Kind][] {
  return [
    ['borrower', 'address'],
    ['loanExpiration', 'uint64'],
    ['state', 'enum'],
    ['lender', 'address'],
    [ownTime, 'uint64'],
    ['token', 'address'],
    ['loanExpirationPeriod', 'uint64'],
  ]
}

function texts(): [string, Kind][] {
  return [
    ['filBorrower', 'bytes'],
    ['filLender', 'bytes'],
    ['secretHashA1', 'bytes32'],
    ['secretHashB1', 'bytes32'],
    ['secretA1', 'bytes'],
    ['secretB1', 'bytes'],
  ]
}

export interface StoredField {
  name: string
  kind: Kind
  /** Slot of the struct, from 0. */
  slot: number
  /** Bytes from the slot's lower end. */
  offset: number
}

/** Fields are packed in their order; one that no longer fits begins the next slot. */
function packed(fields: (typeof FIELDS)[ContractRole]): StoredField[] {
  let slot = 0
  let offset = 0
  return fields.map(([name, kind]) => {
    if (offset + SIZES[kind] > 32) {
      slot += 1
      offset = 0
    }
    const field = { name, kind, slot, offset }
    offset += SIZES[kind]
    return field
  })
}

export const LOAN_STORAGE: Record<ContractRole, readonly StoredField[]> = {
  erc20Loans: packed(FIELDS.erc20Loans),
  erc20CollateralLock: packed(FIELDS.erc20CollateralLock),
}

/** The slot of the contract's counter: loans are numbered from 1 up to its value. */
export const COUNTER = wordText(COUNTER_SLOT)

/** Returns the slots of a loan's struct, as 32-byte hex. */
export function slotsOfLoan(role: ContractRole, contractLoanId: UintText): string[] {
  const first = hashed(wordText(BigInt(contractLoanId)), wordText(LOANS_SLOT))
  const count = 1 + Math.max(...LOAN_STORAGE[role].map(({ slot }) => slot))
  return Array.from({ length: count }, (_, index) => wordText(first + BigInt(index)))
}

/** Returns the slots that hold the loan's long `bytes`, given the values of its struct; null if they are too long to be read. */
export function slotsOfLongBytes(
  role: ContractRole,
  slots: readonly string[],
  values: readonly bigint[],
): string[] | null {
  const lengths = LOAN_STORAGE[role].map((field) => longLength(field, values) ?? 0)
  if (lengths.some((length) => length > MOST_BYTES)) return null
  return LOAN_STORAGE[role].flatMap((field) => {
    const length = longLength(field, values)
    if (length === null) return []
    const first = hashed(slots[field.slot] ?? '')
    return Array.from({ length: Math.ceil(length / 32) }, (_, index) => wordText(first + BigInt(index)))
  })
}

/**
 * Returns the loan that these slots hold, in the form of `fetchLoan`; null if there is none. `long` are the values of
 * {@link slotsOfLongBytes}.
 */
export function storedLoan(
  role: ContractRole,
  values: readonly bigint[],
  long: readonly bigint[],
): LoanState | null {
  const rest = long.map((value) => wordText(value).slice(2))
  const texts = Object.fromEntries(
    LOAN_STORAGE[role].map((field) => {
      const length = longLength(field, values)
      if (length === null) return [field.name, shortValue(field, values[field.slot] ?? 0n)]
      const hex = rest.splice(0, Math.ceil(length / 32)).join('')
      return [field.name, `0x${hex.slice(0, 2 * length)}`]
    }),
  )
  if ([texts['borrower'], texts['lender']].every((party) => BigInt(party ?? '0x') === 0n)) return null
  // The names are those of the role, which the compiler cannot follow.
  return { ...texts, role, state: Number(texts['state']) } as LoanState
}

/** The length of `bytes` that are kept elsewhere: then the slot has twice their length, plus 1. Null for other values. */
function longLength({ kind, slot }: StoredField, values: readonly bigint[]): number | null {
  const value = values[slot] ?? 0n
  if (kind !== 'bytes' || value % 2n === 0n) return null
  return Number(value / 2n)
}

function shortValue({ kind, offset }: StoredField, word: bigint): string {
  const value = BigInt.asUintN(8 * SIZES[kind], word >> BigInt(8 * offset))
  switch (kind) {
    case 'address':
      return checksummed(`0x${value.toString(16).padStart(40, '0')}`)
    case 'bytes32':
      return wordText(value)
    case 'bytes':
      // Short bytes stand at the upper end, and the lowest byte is twice their length.
      return wordText(value).slice(0, 2 + Number(value % 256n))
    case 'uint64':
    case 'uint256':
    case 'enum':
      return String(value)
  }
}

function hashed(...words: string[]): bigint {
  return BigInt(`0x${keccakText(words.map((word) => word.slice(2)).join(''))}`)
}

function wordText(value: bigint): string {
  return `0x${BigInt.asUintN(256, value).toString(16).padStart(64, '0')}`
}
