import { z } from 'zod'
import { contracts } from './artifacts.ts'
import type { Deployment } from './deploy.ts'
import type { Market } from './loan-life.ts'
import { hex, type Rpc, type RpcRequest } from './rpc.ts'

/** What a contract says of a loan at a block. Times are seconds since 1970, hashes and bytes `0x` hex. */
export interface LoanOnChain {
  borrower: string
  lender: string
  filBorrower: string
  filLender: string
  secretHashA1: string
  secretHashB1: string
  loanExpiration: number
  /** ERC20CollateralLock has none: undefined. */
  acceptExpiration: number | undefined
  token: string
  state: number
}

const pair = z.tuple([z.string(), z.string()])
const answerSchema = z.tuple([
  pair,
  pair,
  pair,
  pair,
  z.array(z.bigint()).min(3),
  z.array(z.bigint()),
  z.string(),
  z.string(),
  z.bigint(),
])

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

/** How many loans a market has made. */
export async function lastLoanId(rpc: Rpc, deployment: Deployment, market: Market): Promise<number> {
  const data = contracts[market].interface.encodeFunctionData('lastLoanId')
  const [answer] = await rpc.all(hex, [callRequest(deployment[market], data)])
  return Number(answer)
}

function callRequest(to: string, data: string): RpcRequest {
  return { method: 'eth_call', params: [{ to, data }, 'latest'] }
}

function decodeLoan(market: Market, answer: string): LoanOnChain {
  const result = contracts[market].interface.decodeFunctionResult('fetchLoan', answer)
  const [actors, filAddresses, secretHashes, , expirations, , , token, state] = answerSchema.parse(
    result.toArray(true),
  )
  return {
    ...{ borrower: actors[0], lender: actors[1], filBorrower: filAddresses[0], filLender: filAddresses[1] },
    ...{ secretHashA1: secretHashes[0], secretHashB1: secretHashes[1], token },
    loanExpiration: Number(expirations[0]),
    acceptExpiration: market === 'erc20Loans' ? Number(expirations[1]) : undefined,
    state: Number(state),
  }
}
