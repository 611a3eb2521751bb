import { onchainTable } from 'ponder'

/** The history: one record per event. There is no log and no page count, so it stores less than the service. */
export const record = onchainTable('record', (column) => ({
  id: column.text().primaryKey(),
  blockNumber: column.bigint().notNull(),
  logIndex: column.integer().notNull(),
  txHash: column.hex().notNull(),
  event: column.text().notNull(),
  contract: column.hex().notNull(),
  loanId: column.bigint().notNull(),
  timeS: column.bigint().notNull(),
}))

/** The loans, with the lookups' field names; empty where the setting selects the history alone. */
export const loan = onchainTable('loan', (column) => ({
  id: column.text().primaryKey(),
  contractLoanId: column.text().notNull(),
  state: column.text().notNull(),
  token: column.text().notNull(),
  loanExpirationPeriod: column.text().notNull(),
  borrower: column.text(),
  lender: column.text(),
  filBorrower: column.text(),
  filLender: column.text(),
  secretHashA1: column.text(),
  secretHashB1: column.text(),
  secretA1: column.text(),
  secretB1: column.text(),
  loanExpiration: column.text(),
  acceptExpiration: column.text(),
  principalAmount: column.text(),
  interestAmount: column.text(),
  interestRate: column.text(),
  collateralAmount: column.text(),
  lockPrice: column.text(),
  liquidationPrice: column.text(),
  paymentChannelId: column.text(),
}))
