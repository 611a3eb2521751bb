import fc from 'fast-check'
import t from 'tap'
import { KINDS_OF_ROLE, type ChainEvent, type EvmEventKind } from '../../../../shared/events/chain-event.ts'
import { naturalKey, subjectOf } from '../../../../shared/events/natural-key.ts'

const PLACE = {
  blockNumber: 7,
  blockHash: `0x${'b'.repeat(64)}`,
  blockTimeS: 1000,
  txHash: `0x${'a'.repeat(64)}`,
  logIndex: 3,
  txLogIndex: 1,
}

const payback: ChainEvent = {
  ...PLACE,
  contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  role: 'erc20Loans',
  kind: 'Payback',
  contractLoanId: '12',
  loanId: 'goerli-12',
  args: { borrower: '0x00', amount: '5', token: '0x00' },
  terms: { values: {} },
  tokenDecimals: 18,
}

void t.test('the same event in another branch has the same key', (t) => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), fc.nat(), (blockNumber, blockTimeS, logIndex, amount) => {
      const moved: ChainEvent = {
        ...payback,
        blockNumber,
        blockTimeS,
        logIndex,
        blockHash: `0x${blockNumber}`,
        // The transaction ran again: what it says may differ.
        contractLoanId: `${amount}`,
        loanId: `${amount}`,
        args: { ...payback.args, amount: `${amount}` },
      }
      return naturalKey(moved) === naturalKey(payback)
    }),
  )
  t.pass('held')
  t.end()
})

void t.test('events that differ in transaction, contract, position or kind have different keys', (t) => {
  const kinds = Object.values(KINDS_OF_ROLE).flat() as readonly EvmEventKind[]
  const keys = new Set<string>()
  let events = 0
  for (const txHash of ['0x01', '0x02']) {
    for (const role of ['erc20Loans', 'erc20CollateralLock'] as const) {
      for (const txLogIndex of [0, 1, 11]) {
        for (const kind of [...kinds, 'Undecodable']) {
          keys.add(naturalKey({ ...payback, txHash, role, txLogIndex, kind } as ChainEvent))
          events++
        }
      }
    }
  }
  t.equal(keys.size, events)
  t.end()
})

void t.test('a subject is the loan as the lookups name it', (t) => {
  t.equal(subjectOf(payback, 'evm:1'), 'ERC20FIL/goerli-12')
  t.equal(subjectOf({ ...payback, role: 'erc20CollateralLock', loanId: '3' }, 'evm:1'), 'FILERC20/3')
  const { contract, role } = payback
  const undecodable: ChainEvent = {
    ...PLACE,
    contract,
    role,
    kind: 'Undecodable',
    reason: 'short data',
    topics: [],
    dataHead: '0x',
    dataBytes: 0,
  }
  t.equal(subjectOf(undecodable, 'evm:1'), null)
  t.end()
})
