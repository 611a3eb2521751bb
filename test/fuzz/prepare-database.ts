import { connect } from '../../shared/db/connect.ts'
import { seedLoan, seedNetwork, seedRecords } from '../helpers/seed-projection.ts'

/** Seeds records, loans and a followed network, for the requests of the `http` target. */
export async function prepareDatabase(url: string): Promise<void> {
  const db = connect(url, { name: 'loan-activity fuzz', max: 1 })
  try {
    await seedRecords(db, 500)
    await seedLoan(db, {
      loanType: 'ERC20FIL',
      loanId: '7',
      id: 5_001,
      part: { contractLoanId: '7', state: '0' },
    })
    await seedLoan(db, {
      loanType: 'FILERC20',
      loanId: 'eth-7',
      id: 5_002,
      part: { contractLoanId: '7', state: '0' },
    })
    await seedNetwork(db)
  } finally {
    await db.destroy()
  }
}
