import { formatUnits } from '../amounts.ts'
import type { EvmLoanEvent, KINDS_OF_ROLE, UintText } from '../events/chain-event.ts'
import { eachField, ERC20_LOAN } from '../events/loan-parts.ts'

/** Events of the market that lends ERC20 tokens against Filecoin collateral. */
export type Erc20LoanEvent = Extract<EvmLoanEvent, { kind: (typeof KINDS_OF_ROLE)['erc20Loans'][number] }>

/** The `erc20Loan` part of a lookup, without id and times; unknown values are null. */
export type Erc20LoanPart = Record<(typeof ERC20_LOAN)[number], string | null> &
  Record<'contractLoanId' | 'state' | 'blockchain' | 'networkId' | 'erc20LoansContract', string>

export const FIL_DECIMALS = 18

export function initialErc20Loan(
  { contractLoanId, contract }: Erc20LoanEvent,
  chain: { blockchain: string; networkId: string },
): Erc20LoanPart {
  const known = { contractLoanId, state: '0', ...chain, erc20LoansContract: contract }
  return { ...eachField(ERC20_LOAN, null), ...known }
}

/** Applies one more event of this loan, in chain order. */
export function evolveErc20Loan(loan: Erc20LoanPart, event: Erc20LoanEvent): Erc20LoanPart {
  switch (event.kind) {
    case 'CreateLoanOffer':
      return {
        ...loan,
        lender: event.args.lender,
        filLender: event.terms.values.filLender,
        secretHashB1: event.terms.values.secretHashB1,
        loanExpirationPeriod: event.terms.values.loanExpirationPeriod,
        principalAmount: inUnits(event.args.principal, event.tokenDecimals),
        interestAmount: inUnits(event.terms.values.interest, event.tokenDecimals),
        token: event.args.token,
        state: '0',
      }
    case 'ApproveRequest':
      return {
        ...loan,
        borrower: event.args.borrower,
        filBorrower: event.args.filBorrower,
        secretHashA1: event.args.secretHashA1,
        paymentChannelId: event.args.paymentChannelId,
        collateralAmount: inUnits(event.args.collateralAmount, FIL_DECIMALS),
        loanExpiration: event.terms.values.loanExpiration,
        acceptExpiration: event.terms.values.acceptExpiration,
        state: '1',
      }
    case 'Withdraw':
      return { ...loan, secretA1: event.args.secretA1, state: '2' }
    case 'Payback':
      return { ...loan, state: '3' }
    case 'RefundPayback':
      return { ...loan, state: '4' }
    case 'AcceptRepayment':
      return { ...loan, secretB1: event.args.secretB1, state: '5' }
    case 'CancelLoan':
      return { ...loan, secretB1: event.args.secretB1, state: '6' }
    default:
      return event satisfies never
  }
}

/** Exact whole units; null if the amount or the token's decimals are unknown. */
export function inUnits(amount: UintText | null, decimals: number | null): string | null {
  return amount === null || decimals === null ? null : formatUnits(BigInt(amount), decimals)
}
