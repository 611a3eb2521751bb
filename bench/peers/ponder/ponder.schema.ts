import { onchainTable } from 'ponder'

/** The history: one record per event. No loans, no log of its own, no counts of pages: less than the service keeps. */
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
