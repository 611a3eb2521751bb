import t from 'tap'
import { compareLoan, loanAt } from '../../../indexer/state-proof/loan-at.evolve.ts'
import { searchDifference } from '../../../indexer/state-proof/search-block.ts'
import type { LoanState } from '../../../indexer/sources/evm/decode-loan.ts'
import type { HeldEntry } from '../../../shared/events/log-entry.ts'

const START = 100
const FINAL = 1000

/** An entry of a loan whose beginning the log does not have. */
function paidBack(blockNumber: number): HeldEntry {
  return {
    ...{ network: 'evm:31337', blockchain: 'TEST', subject: 'ERC20FIL/1', previousSubject: null },
    ...{ op: 'append', origin: null, position: 1, step: 1, recordedAt: new Date(0) },
    event: {
      ...{ chain: 'evm', kind: 'Payback', role: 'erc20Loans', contract: '0xc1' },
      ...{ contractLoanId: '1', loanId: '1', terms: { values: {} } },
      ...{ blockNumber, blockHash: '0x01', blockTimeS: 0, txHash: '0x02', logIndex: 0, txLogIndex: 0 },
      tokenDecimals: 6,
      args: { borrower: '0xb1', amount: '1', token: '0x70' },
    },
  }
}

function stored(state: number): LoanState {
  return {
    ...{ role: 'erc20Loans', borrower: '0xb1', lender: '0x1e', filBorrower: '0x', filLender: '0x' },
    ...{ secretHashA1: '0x', secretHashB1: '0x', secretA1: '0x', secretB1: '0x', paymentChannelId: '0x' },
    ...{ loanExpiration: '1', acceptExpiration: '1', loanExpirationPeriod: '1', token: '0x70' },
    ...{ principal: '1', interest: '1', collateral: '1', state },
  }
}

void t.test('a loan older than startBlock differs from the first event that the log lacks', async (t) => {
  const entries = [paidBack(700)]
  const stateAt = (block: number): number => (block < 700 ? 2 : block < 800 ? 3 : 5)
  const isEqualAt = (block: number): boolean =>
    compareLoan(loanAt(entries, block), stored(stateAt(block)), false).length === 0
  t.notOk(isEqualAt(FINAL))
  const found = await searchDifference(
    START - 1,
    FINAL,
    (block) => Promise.resolve(isEqualAt(block)),
    new AbortController().signal,
  )
  t.equal(found, 800)
})

void t.test('a loan that began in the log differs where the log has nothing of it', (t) => {
  t.same(compareLoan(undefined, stored(0), true), [{ field: 'loan', indexed: null, onChain: 'state 0' }])
  t.same(compareLoan(undefined, null, true), [])
  t.end()
})
