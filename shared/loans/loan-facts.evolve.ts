import { parseUnits } from '../amounts.ts'
import type { LoanType } from '../events/chain-event.ts'
import { canonicalAddress } from '../filecoin/address.ts'
import { remembering } from '../remembering.ts'
import type { CollateralLockPart } from './collateral-lock.evolve.ts'
import { FIL_DECIMALS, type Erc20LoanPart } from './erc20-loan.evolve.ts'
import type { LoanTimes } from './loans.evolve.ts'

/** The facts of a loan that can tie a payment channel to it. Addresses are in canonical form. */
export interface LoanFacts {
  loanType: LoanType
  loanId: string
  contractLoanId: string
  contract: string
  networkId: string
  /** The channel that the contract names; null while it names none that is readable. */
  namedChannel: string | null
  /** The Filecoin parties that the contract names; null if the text is no address. */
  borrower: string | null
  lender: string | null
  /** 0x hex of 32 bytes. */
  secretHashA1: string | null
  secretHashB1: string | null
  /** attoFIL that a borrow request asks for; null for a token loan. */
  requestedAttoFil: bigint | null
  times: LoanTimes
}

export function loanFacts(
  loanType: LoanType,
  loanId: string,
  part: Erc20LoanPart | CollateralLockPart,
  times: LoanTimes,
): LoanFacts {
  return {
    loanType,
    loanId,
    contractLoanId: part.contractLoanId,
    contract: 'erc20LoansContract' in part ? part.erc20LoansContract : part.collateralLockContractAddress,
    networkId: part.networkId,
    namedChannel: addressIn(part.paymentChannelId),
    borrower: addressIn(part.filBorrower),
    lender: addressIn(part.filLender),
    secretHashA1: part.secretHashA1,
    secretHashB1: part.secretHashB1,
    requestedAttoFil:
      'collateralLockContractAddress' in part && part.principalAmount !== null
        ? parseUnits(part.principalAmount, FIL_DECIMALS)
        : null,
    times,
  }
}

/** Parties repeat often, and a checksum is expensive. */
const MAX_REMEMBERED = 5_000
/** Hex of `f0` and `t0`: most channels are named by their own ID, and parsing one is cheaper than a cache look-up. */
const BEGINNINGS_OF_IDS = ['0x6630', '0x7430']
const addressOfText = remembering(MAX_REMEMBERED, (hex) => canonicalAddress(textIn(hex)))

/** The address whose text these bytes hold (a `bytes32` is padded with zeros); null for anything else. */
export function addressIn(hex: string | null): string | null {
  if (hex === null || hex.length > 300) return null
  return BEGINNINGS_OF_IDS.includes(hex.slice(0, 6)) ? canonicalAddress(textIn(hex)) : addressOfText(hex)
}

function textIn(hex: string): string {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  let end = bytes.length
  while (bytes[end - 1] === 0) end -= 1
  return bytes.toString('latin1', 0, end)
}
