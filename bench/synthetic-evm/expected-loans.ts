import { formatUnits } from '../../shared/amounts.ts'
import type { EvmEventKind } from '../../shared/events/chain-event.ts'
import { CHAIN_ID } from './synthetic-chain.ts'
import type { Parties } from './parties.ts'
import type { SyntheticLoan } from './synthetic-loan.ts'

export const BLOCKCHAIN = 'SYNTHETIC'
const FIL_DECIMALS = 18
const PRICE_DECIMALS = 18

/** Returns the fields that a loan's lookup must show after its moves so far. */
export function expectedPart(loan: SyntheticLoan, parties: Parties): Record<string, string | null> {
  const told = (...kinds: EvmEventKind[]): boolean => kinds.some((kind) => loan.told.has(kind))
  const known = {
    contractLoanId: loan.id,
    secretA1: told('Withdraw', 'SeizeCollateral', 'CancelBorrowRequest') ? loan.secretA1 : null,
    secretB1: told('AcceptRepayment', 'CancelLoan', 'UnlockCollateral') ? loan.secretB1 : null,
    loanExpirationPeriod: String(loan.periodS),
    state: String(loan.state),
    blockchain: BLOCKCHAIN,
    networkId: String(CHAIN_ID),
    token: loan.token.address,
  }
  return loan.role === 'erc20Loans'
    ? { ...known, ...tokenLoan(loan, parties) }
    : { ...known, ...filLoan(loan, parties) }
}

function tokenLoan(loan: SyntheticLoan, parties: Parties): Record<string, string | null> {
  const agreed = (value: string): string | null => (loan.told.has('ApproveRequest') ? value : null)
  return {
    lender: loan.lender.evm,
    filLender: loan.lender.fil,
    secretHashB1: loan.hashB1,
    principalAmount: formatUnits(loan.amount, loan.token.decimals),
    interestAmount: formatUnits(loan.interest, loan.token.decimals),
    borrower: agreed(loan.borrower.evm),
    filBorrower: agreed(loan.borrower.fil),
    secretHashA1: agreed(loan.hashA1),
    collateralAmount: agreed(formatUnits(loan.fil, FIL_DECIMALS)),
    paymentChannelId: agreed(loan.channel),
    loanExpiration: agreed(String(loan.loanExpiration)),
    acceptExpiration: agreed(String(loan.acceptExpiration)),
    erc20LoansContract: parties.contracts.erc20Loans,
  }
}

function filLoan(loan: SyntheticLoan, parties: Parties): Record<string, string | null> {
  const agreed = (value: string): string | null => (loan.told.has('AcceptOffer') ? value : null)
  const seizedAt = formatUnits(loan.price * 2n, PRICE_DECIMALS)
  return {
    borrower: loan.borrower.evm,
    filBorrower: loan.borrower.fil,
    secretHashA1: loan.hashA1,
    collateralAmount: formatUnits(loan.amount, loan.token.decimals),
    principalAmount: formatUnits(loan.fil, FIL_DECIMALS),
    interestRate: formatUnits(loan.interest, PRICE_DECIMALS),
    lender: agreed(loan.lender.evm),
    filLender: agreed(loan.lender.fil),
    secretHashB1: agreed(loan.hashB1),
    paymentChannelId: agreed(loan.channel),
    loanExpiration: agreed(String(loan.loanExpiration)),
    lockPrice: agreed(formatUnits(loan.price, PRICE_DECIMALS)),
    liquidationPrice: loan.told.has('SeizeCollateral') ? seizedAt : null,
    collateralLockContractAddress: parties.contracts.erc20CollateralLock,
  }
}
