import {
  getErc20Loan,
  getErc20LoanNext,
  getErc20LoanVouchers,
  getFilLoan,
  getFilLoanNext,
  getFilLoanVouchers,
  type LoanNextAnswer,
  type LoanVouchersAnswer,
} from '../../../../client/index.ts'
import type { Call } from '../../lib/api.ts'
import type { LoanAnswer, Market } from './loan-model.ts'

/** The loan with the records that set each field; without them where the loan has too many entries for that. */
export function lookup(market: Market, loanId: string, asOf: number | null): Call<LoanAnswer> {
  const ask = market === 'ERC20' ? getErc20Loan : getFilLoan
  return async (options) => {
    const query = asOf === null ? {} : { asOf: String(asOf) }
    const path = { loanId }
    // Without a connection there is no response, whatever the client's types say.
    const explained: Awaited<ReturnType<Call<LoanAnswer>>> = await ask({
      ...options,
      path,
      query: { ...query, explain: '1' },
    })
    return explained.response?.status === 400 ? ask({ ...options, path, query }) : explained
  }
}

export function askNext(market: Market, loanId: string): Call<LoanNextAnswer> {
  const ask = market === 'ERC20' ? getErc20LoanNext : getFilLoanNext
  return (options) => ask({ ...options, path: { loanId } })
}

export function askVouchers(market: Market, loanId: string): Call<LoanVouchersAnswer> {
  const ask = market === 'ERC20' ? getErc20LoanVouchers : getFilLoanVouchers
  return (options) => ask({ ...options, path: { loanId } })
}
