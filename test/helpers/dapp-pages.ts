import {
  createClient,
  getBorrowOrders,
  getErc20Loan,
  getFilLoan,
  getHistoryPage,
  getLendOrders,
  getLoanAssets,
  getLoansOfAccount,
  getProtocolContracts,
} from '../../client/index.ts'

/** Numbers of things that the pages showed. */
export interface PagesShown {
  records: number
  requests: number
  offers: number
  filLoans: number
  erc20Loans: number
  /** Requests and offers whose token has a symbol. */
  named: number
}

/**
 * Asks what the dapp's pages ask: home, borrow, lend, a loan of each market, my loans. Throws an error that names the field
 * if one that a page reads is missing.
 */
export async function playDappPages(baseUrl: string): Promise<PagesShown> {
  const client = createClient({ baseUrl })
  const options = { client, throwOnError: true } as const
  const { payload: records } = (await getHistoryPage({ ...options, path: { page: '1' } })).data
  for (const record of records)
    needs('history', record, ['txHash', 'event', 'loanId', 'blockchain', 'createdAt'])
  const { payload: contracts } = (await getProtocolContracts(options)).data
  for (const chain of Object.values(contracts))
    needs('protocolContracts', chain, ['ERC20Loans', 'ERC20CollateralLock'])
  const { payload: assets } = (await getLoanAssets({ ...options, path: { networkId: 'ALL' } })).data

  const state = { path: { state: 'available' } } as const
  const { payload: requests } = (await getBorrowOrders({ ...options, ...state })).data
  for (const order of requests)
    needs('orders/borrow', order, [...ORDER, 'interestRate', 'collateralAmount', 'borrower'])
  const { payload: offers } = (await getLendOrders({ ...options, ...state })).data
  for (const order of offers) needs('orders/lend', order, [...ORDER, 'interestAmount', 'lender'])

  const parties = new Set<string>()
  for (const { loanId, loanType } of records) {
    const path = { loanId }
    if (loanType === 'ERC20FIL') {
      const { erc20Loan } = (await getErc20Loan({ ...options, path })).data.payload
      if ('lender' in erc20Loan && erc20Loan.lender !== null) parties.add(erc20Loan.lender)
    } else {
      const { collateralLock } = (await getFilLoan({ ...options, path })).data.payload
      if ('borrower' in collateralLock && collateralLock.borrower !== null)
        parties.add(collateralLock.borrower)
    }
  }
  const shown = { filLoans: 0, erc20Loans: 0 }
  for (const account of parties) {
    const { filLoans, erc20Loans } = (await getLoansOfAccount({ ...options, path: { account } })).data.payload
    for (const loan of filLoans) {
      needs('my loans', loan, [
        'id',
        'principalAmount',
        'network',
        'state',
        'ethBorrower',
        'ethLender',
        'filPayback',
      ])
      needs('my loans', loan.collateralLock, ['interestRate', 'loanExpirationPeriod', 'state'])
    }
    for (const loan of erc20Loans)
      needs('my loans', loan, [
        'id',
        'lender',
        'borrower',
        'principalAmount',
        'interestAmount',
        'token',
        'networkId',
        'state',
      ])
    shown.filLoans += filLoans.length
    shown.erc20Loans += erc20Loans.length
  }
  const named = [...requests, ...offers].filter(
    ({ token }) => token !== null && assets[token]?.symbol != null,
  )
  return {
    ...shown,
    records: records.length,
    requests: requests.length,
    offers: offers.length,
    named: named.length,
  }
}

const ORDER = ['id', 'principalAmount', 'loanExpirationPeriod', 'token', 'networkId'] as const

function needs<T extends object>(page: string, shown: T, fields: readonly (keyof T & string)[]): void {
  for (const field of fields) if (shown[field] === undefined) throw new Error(`${page}: no ${field}`)
}
