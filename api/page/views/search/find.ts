import {
  getErc20Loan,
  getFilLoan,
  getLoansOfAccount,
  getLoansOfChannel,
  getRecord,
  searchActivity,
  type ActivityRecord,
} from '../../../../client/index.ts'
import { ask, Failure, type Call } from '../../lib/api.ts'
import type { Guess } from '../../lib/search-form.ts'

export type Found =
  | { kind: 'loan'; loanType: 'ERC20FIL' | 'FILERC20'; loanId: string; as?: string }
  | { kind: 'account'; account: string; loans: number; hasMore: boolean }
  | { kind: 'records'; records: ActivityRecord[] }

/** Asks the API for one reading of the text. Nothing there is an empty list; other failures are thrown. */
export async function find(one: Guess, stop: AbortSignal): Promise<Found[]> {
  switch (one.kind) {
    case 'loan': {
      const path = { loanId: one.loanId }
      const [erc20, fil] = await Promise.all([
        there((options) => getErc20Loan({ ...options, path }), stop),
        there((options) => getFilLoan({ ...options, path }), stop),
      ])
      const { loanId } = one
      return [
        ...(erc20 === null ? [] : [{ kind: 'loan', loanType: 'ERC20FIL', loanId } as const]),
        ...(fil === null ? [] : [{ kind: 'loan', loanType: 'FILERC20', loanId } as const]),
      ]
    }
    case 'record': {
      const found = await there((options) => getRecord({ ...options, path: { id: one.id } }), stop)
      return found === null ? [] : [{ kind: 'records', records: [found.payload.record] }]
    }
    case 'account': {
      const { account } = one
      const found = await there((options) => getLoansOfAccount({ ...options, path: { account } }), stop)
      const loans = found === null ? 0 : found.payload.filLoans.length + found.payload.erc20Loans.length
      return loans === 0 ? [] : [{ kind: 'account', account, loans, hasMore: found?.next !== null }]
    }
    case 'channel': {
      const path = { channel: one.channel }
      const found = await there((options) => getLoansOfChannel({ ...options, path }), stop)
      return (found?.payload ?? []).map(({ loanType, loanId, role }): Found => ({
        kind: 'loan',
        loanType,
        loanId,
        as: role,
      }))
    }
    case 'hash': {
      const query = { txHash: [one.txHash], limit: '100' }
      const found = await there((options) => searchActivity({ ...options, query }), stop)
      return found === null || found.payload.length === 0 ? [] : [{ kind: 'records', records: found.payload }]
    }
  }
}

/** Null where there is no such thing. A text with the form of an address can still be none: then nothing has it. */
async function there<T>(call: Call<T>, stop: AbortSignal): Promise<T | null> {
  try {
    return (await ask(call, stop)).data
  } catch (error) {
    if (error instanceof Failure && (error.kind === 'missing' || error.kind === 'refused')) return null
    throw error
  }
}
