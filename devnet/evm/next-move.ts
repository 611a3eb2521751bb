import { contracts } from './artifacts.ts'
import type { Life } from './loan-life.ts'
import type { LoanOnChain } from './loan-reader.ts'
import { bytesText } from './loan-texts.ts'
import type { Step } from '../loans/steps.ts'

/** The next action for a loan. `until`: chain time at which the loan can continue, Unix seconds. */
export type Move =
  | { kind: 'call'; sender: string; data: string }
  | { kind: 'wait'; until: number }
  /** A step on Filecoin. */
  | { kind: 'step'; step: Step }
  /** The loan waits for Filecoin. */
  | { kind: 'hold' }
  | { kind: 'done' }
  | { kind: 'vanished' }

const done: Move = { kind: 'done' }

/** True when the loan needs no further move. */
export function isOver(move: Move | undefined): boolean {
  return move === undefined || move.kind === 'done' || move.kind === 'vanished'
}

/** Seconds. A transaction is mined shortly after it is sent, so a call that would expire meanwhile is not tried. */
const margin = 3

/** The first move: an offer or a request. */
export function firstMove(life: Life): Move {
  const { filLender, filBorrower, tokenAmount, interest, token, filAmount, interestRate } = life
  return life.market === 'erc20Loans'
    ? call(life, life.lender, 'createLoanOffer', [
        ...[life.hashes.b1, filLender, tokenAmount, interest, token, life.loanExpirationPeriod],
      ])
    : call(life, life.borrower, 'createBorrowRequest', [
        ...[
          life.hashes.a1,
          filBorrower,
          tokenAmount,
          token,
          filAmount,
          interestRate,
          life.loanExpirationPeriod,
        ],
      ])
}

/** Returns the next move of a loan with a known id, from its contract's state at a block with time `now`. */
export function nextMove(life: Life, loan: LoanOnChain, now: number): Move {
  if (!isSameLoan(life, loan)) return { kind: 'vanished' }
  return life.market === 'erc20Loans' ? nextLendMove(life, loan, now) : nextBorrowMove(life, loan, now)
}

/** The number can belong to another loan after a reorg. */
function isSameLoan(life: Life, loan: LoanOnChain): boolean {
  return life.market === 'erc20Loans'
    ? loan.secretHashB1 === life.hashes.b1 && loan.lender === life.lender
    : loan.secretHashA1 === life.hashes.a1 && loan.borrower === life.borrower
}

function nextLendMove(life: Life, loan: LoanOnChain, now: number): Move {
  const late = now + margin > loan.loanExpiration
  switch (loan.state) {
    case 0:
      if (life.plan === 'leaveOpen') return done
      return life.plan === 'cancel' ? cancelOffer(life) : approve(life)
    case 1:
      if (life.plan === 'cancelApproved' || late) return cancelOffer(life)
      return call(life, life.borrower, 'withdraw', [life.loanId, bytesText(life.secrets.a1)])
    case 2:
      if (life.plan === 'default' || late) return done
      return call(life, life.borrower, 'payback', [life.loanId])
    case 3:
      return settleRepaid(life, loan.acceptExpiration ?? 0, now)
    default:
      return done
  }
}

function settleRepaid(life: Life, acceptExpiration: number, now: number): Move {
  if (now > acceptExpiration) return call(life, life.borrower, 'refundPayback', [life.loanId])
  const late = now + margin > acceptExpiration
  if (life.plan === 'refund' || late) return { kind: 'wait', until: acceptExpiration + 1 }
  return call(life, life.lender, 'acceptRepayment', [life.loanId, bytesText(life.secrets.b1)])
}

function nextBorrowMove(life: Life, loan: LoanOnChain, now: number): Move {
  switch (loan.state) {
    case 0:
      if (life.plan === 'leaveOpen') return done
      return life.plan === 'cancel'
        ? call(life, life.borrower, 'cancelBorrowRequest', [life.loanId, bytesText(life.secrets.a1)])
        : acceptOffer(life)
    case 1:
      if (life.plan !== 'seize')
        return call(life, life.borrower, 'unlockCollateral', [life.loanId, bytesText(life.secrets.b1)])
      return now > loan.loanExpiration
        ? call(life, life.lender, 'seizeCollateral', [life.loanId, bytesText(life.secrets.a1)])
        : { kind: 'wait', until: loan.loanExpiration + 1 }
    default:
      return done
  }
}

function approve(life: Life): Move {
  const { loanId, borrower, filBorrower, hashes, paymentChannelId, filAmount } = life
  return call(life, life.lender, 'approveRequest', [
    ...[loanId, borrower, filBorrower, hashes.a1, paymentChannelId, filAmount],
  ])
}

function acceptOffer(life: Life): Move {
  const { loanId, lender, filLender, hashes, paymentChannelId, filAmount } = life
  return call(life, life.borrower, 'acceptOffer', [
    ...[loanId, lender, filLender, hashes.b1, paymentChannelId, filAmount],
  ])
}

/** Needs only the loan's id, which the contract may not have assigned yet. */
export function cancelOffer(life: Life): Move {
  return call(life, life.lender, 'cancelLoan', [life.loanId, bytesText(life.secrets.b1)])
}

function call(life: Life, sender: string, method: string, args: unknown[]): Move {
  return { kind: 'call', sender, data: contracts[life.market].interface.encodeFunctionData(method, args) }
}
