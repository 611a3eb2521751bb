import type { Deployment } from '../evm/deploy.ts'
import { markets } from '../evm/loan-life.ts'
import { lastLoanId, readLoans } from '../evm/loan-reader.ts'
import type { Rpc } from '../evm/rpc.ts'
import type { MadeLoan } from './expected-records.ts'

export async function madeLoans(rpc: Rpc, deployment: Deployment): Promise<(MadeLoan & { state: number })[]> {
  const found = await Promise.all(
    markets.map(async (market) => {
      const last = await lastLoanId(rpc, deployment, market)
      const ids = Array.from({ length: last }, (_, index) => ({ market, loanId: BigInt(index + 1) }))
      const loans = await readLoans(rpc, deployment, ids)
      return ids.flatMap((id, index) => {
        const loan = loans[index]
        return loan === undefined ? [] : { ...id, ...loan }
      })
    }),
  )
  return found.flat()
}
