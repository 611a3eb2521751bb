import { getAddress } from 'ethers'
import { contracts } from './artifacts.ts'
import type { Deployment } from './deploy.ts'
import type { Market } from './loan-life.ts'
import { hex, type Rpc, type RpcRequest } from './rpc.ts'

/** A contract's data of a loan at a block. Times are Unix seconds, hashes `0x` hex. */
export interface LoanOnChain {
  borrower: string
  lender: string
  secretHashA1: string
  secretHashB1: string
  loanExpiration: number
  /** Undefined for ERC20CollateralLock, which has none. */
  acceptExpiration: number | undefined
  token: string
  state: number
}

/** Reads loans by `fetchLoan` at the latest block. A loan that was never made has a zero lender and borrower. */
export async function readLoans(
  rpc: Rpc,
  deployment: Deployment,
  loans: { market: Market; loanId: bigint }[],
): Promise<LoanOnChain[]> {
  const requests = loans.map(({ market, loanId }) =>
    callRequest(deployment[market], contracts[market].interface.encodeFunctionData('fetchLoan', [loanId])),
  )
  const answers = await rpc.all(hex, requests)
  return answers.map((answer, index) => decodeLoan(loans[index]?.market ?? 'erc20Loans', answer))
}

/** Returns how many loans a market has made. */
export async function lastLoanId(rpc: Rpc, deployment: Deployment, market: Market): Promise<number> {
  const data = contracts[market].interface.encodeFunctionData('loanIdCounter')
  const [answer] = await rpc.all(hex, [callRequest(deployment[market], data)])
  return Number(answer)
}

function callRequest(to: string, data: string): RpcRequest {
  return { method: 'eth_call', params: [{ to, data }, 'latest'] }
}

/**
 * Reads the words at fixed offsets of the answer. A general decoder takes milliseconds for each loan, and bulk play
 * reads thousands.
 */
function decodeLoan(market: Market, answer: string): LoanOnChain {
  const word = (index: number): string => answer.slice(2 + index * 64, 66 + index * 64)
  const address = (index: number): string => getAddress(`0x${word(index).slice(24)}`)
  const seconds = (index: number): number => Number(`0x${word(index)}`)
  const [borrower, lender, secretHashA1, secretHashB1, loanExpiration] = [0, 1, 3, 4, 6] as const
  const [acceptExpiration, token, state] =
    market === 'erc20Loans' ? ([7, 13, 14] as const) : [undefined, 15, 16]
  return {
    ...{ borrower: address(borrower), lender: address(lender), token: address(token) },
    ...{ secretHashA1: `0x${word(secretHashA1)}`, secretHashB1: `0x${word(secretHashB1)}` },
    loanExpiration: seconds(loanExpiration),
    acceptExpiration: acceptExpiration === undefined ? undefined : seconds(acceptExpiration),
    state: seconds(state),
  }
}
