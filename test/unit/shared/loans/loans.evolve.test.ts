import fc from 'fast-check'
import t from 'tap'
import { evolveLoan, isAfter, type Loan } from '../../../../shared/loans/loans.evolve.ts'
import { planEntries } from '../../../../indexer/event-log/plan-entries.evolve.ts'
import { segmentsOf } from '../../../../indexer/projections/segments.evolve.ts'
import type { ChainEvent, EvmLoanEvent } from '../../../../shared/events/chain-event.ts'
import type { LogEntry } from '../../../../shared/events/log-entry.ts'
import { parseUnits } from '../../../../shared/amounts.ts'

const PLACE = {
  blockNumber: 1,
  blockHash: `0x${'01'.repeat(32)}`,
  blockTimeS: 1,
  txHash: `0x${'02'.repeat(32)}`,
  logIndex: 0,
  txLogIndex: 0,
  contractLoanId: '7',
  loanId: 'x-7',
  tokenDecimals: 6,
}
const LOANS = { ...PLACE, contract: '0xL', role: 'erc20Loans' as const }
const LOCK = { ...PLACE, contract: '0xC', role: 'erc20CollateralLock' as const }

const ERC20_LIFE: EvmLoanEvent[] = [
  {
    ...LOANS,
    kind: 'CreateLoanOffer',
    args: { lender: '0xlender', principal: '1500000', token: '0xtoken' },
    terms: {
      values: { secretHashB1: '0xb1', filLender: '0x7431', interest: '1', loanExpirationPeriod: '60' },
    },
  },
  {
    ...LOANS,
    kind: 'ApproveRequest',
    args: {
      borrower: '0xborrower',
      filBorrower: '0x74',
      secretHashA1: '0xa1',
      paymentChannelId: '0x99',
      collateralAmount: '1',
    },
    terms: { values: { loanExpiration: '100', acceptExpiration: '200' } },
  },
  {
    ...LOANS,
    kind: 'Withdraw',
    args: { borrower: '0xborrower', amount: '1500000', token: '0xtoken', secretA1: '0x61' },
    terms: { values: {} },
  },
  {
    ...LOANS,
    kind: 'Payback',
    args: { borrower: '0xborrower', amount: '1500001', token: '0xtoken' },
    terms: { values: {} },
  },
  {
    ...LOANS,
    kind: 'AcceptRepayment',
    args: { amount: '1500001', token: '0xtoken', secretB1: '0x62' },
    terms: { values: {} },
  },
]

const LOCK_LIFE: EvmLoanEvent[] = [
  {
    ...LOCK,
    kind: 'CreateBorrowRequest',
    args: { borrower: '0xborrower', collateralAmount: '2000000', token: '0xtoken' },
    terms: {
      values: {
        secretHashA1: '0xa1',
        filBorrower: '0x74',
        principalAmount: '1000000000000000000',
        interestRate: null,
        loanExpirationPeriod: '60',
      },
      unknown: { interestRate: 'no endpoint has the state' },
    },
  },
  {
    ...LOCK,
    kind: 'AcceptOffer',
    tokenDecimals: null,
    args: {
      lender: '0xlender',
      filLender: '0x75',
      secretHashB1: '0xb1',
      paymentChannelId: '0x98',
      principalAmount: '1',
    },
    terms: { values: { loanExpiration: '300', lockPrice: '5' } },
  },
  {
    ...LOCK,
    kind: 'SeizeCollateral',
    args: { lender: '0xlender', amount: '1', token: '0xtoken' },
    terms: { values: { liquidationPrice: '10', secretA1: '0x61' } },
  },
  {
    ...LOCK,
    kind: 'UnlockRefundableCollateral',
    args: { borrower: '0xborrower', amount: '1', token: '0xtoken' },
    terms: { values: {} },
  },
]

function entries(events: ChainEvent[]): LogEntry[] {
  return planEntries({ network: 'evm:5', blockchain: 'TEST' }, [], unique(events), null).map(
    (entry, index) => ({
      ...entry,
      position: index + 1,
      step: 1,
      recordedAt: new Date(0),
    }),
  )
}

const unique = (events: ChainEvent[]): ChainEvent[] =>
  events.map((event, index) => ({ ...event, blockNumber: index, txLogIndex: index }))

void t.test('a whole ERC20 loan', (t) => {
  const loan = entries(ERC20_LIFE).reduce<Loan | undefined>(evolveLoan, undefined)
  t.strictSame(loan, {
    loanId: 'x-7',
    network: 'evm:5',
    lastBlock: 4,
    lastLogIndex: 0,
    times: { openedS: 1, agreedS: 1, endedS: 1 },
    loanType: 'ERC20FIL',
    part: {
      contractLoanId: '7',
      borrower: '0xborrower',
      lender: '0xlender',
      filBorrower: '0x74',
      filLender: '0x7431',
      secretHashA1: '0xa1',
      secretHashB1: '0xb1',
      secretA1: '0x61',
      secretB1: '0x62',
      loanExpiration: '100',
      acceptExpiration: '200',
      loanExpirationPeriod: '60',
      principalAmount: '1.5',
      interestAmount: '0.000001',
      collateralAmount: '0.000000000000000001',
      paymentChannelId: '0x99',
      state: '5',
      blockchain: 'TEST',
      networkId: '5',
      erc20LoansContract: '0xL',
      token: '0xtoken',
    },
  })
  t.end()
})

void t.test('a whole seized collateral lock; what is unknown is null', (t) => {
  const states: (string | undefined)[] = []
  const lock = entries(LOCK_LIFE).reduce<Loan | undefined>((loan, entry) => {
    const next = evolveLoan(loan, entry)
    states.push(next?.part.state)
    return next
  }, undefined)
  t.strictSame(states, ['0', '1', '2', '2'])
  t.match(lock, {
    loanType: 'FILERC20',
    part: {
      borrower: '0xborrower',
      lender: '0xlender',
      collateralAmount: '2',
      principalAmount: '0.000000000000000001',
      interestRate: null,
      lockPrice: '0.000000000000000005',
      liquidationPrice: '0.00000000000000001',
      secretA1: '0x61',
      secretB1: null,
      loanExpiration: '300',
    },
  })
  t.end()
})

void t.test('states follow the contracts’ numbers', (t) => {
  const after = (life: EvmLoanEvent[], event: EvmLoanEvent): string | undefined =>
    entries([...life, event]).reduce<Loan | undefined>(evolveLoan, undefined)?.part.state
  const refund: EvmLoanEvent = {
    ...LOANS,
    kind: 'RefundPayback',
    args: { borrower: '0x', amount: '1', token: '0x' },
    terms: { values: {} },
  }
  const cancel: EvmLoanEvent = {
    ...LOANS,
    kind: 'CancelLoan',
    args: { amount: '1', token: '0x', secretB1: '0x62' },
    terms: { values: {} },
  }
  const unlock: EvmLoanEvent = {
    ...LOCK,
    kind: 'UnlockCollateral',
    args: { borrower: '0x', collateralAmount: '1', token: '0x' },
    terms: { values: { secretB1: '0x62' } },
  }
  const cancelRequest: EvmLoanEvent = {
    ...LOCK,
    kind: 'CancelBorrowRequest',
    args: { borrower: '0x', collateralAmount: '1', token: '0x', secretA1: '0x61' },
    terms: { values: {} },
  }
  t.strictSame(
    [1, 2, 3, 4].map(
      (length) =>
        entries(ERC20_LIFE.slice(0, length)).reduce<Loan | undefined>(evolveLoan, undefined)?.part.state,
    ),
    ['0', '1', '2', '3'],
  )
  t.equal(after(ERC20_LIFE.slice(0, 4), refund), '4')
  t.equal(after(ERC20_LIFE.slice(0, 1), cancel), '6')
  t.equal(after(LOCK_LIFE.slice(0, 2), unlock), '3')
  t.equal(after(LOCK_LIFE.slice(0, 1), cancelRequest), '4')
  t.end()
})

void t.test('a loan has ended when it first did: a contract accepts a repayment again later', (t) => {
  const at = (kind: string, blockTimeS: number): ChainEvent[] =>
    ERC20_LIFE.filter((event) => event.kind === kind).map((event) => ({
      ...event,
      ...{ blockTimeS, blockNumber: blockTimeS, txHash: `0x${kind}${blockTimeS}` },
    }))
  const life = [
    ...at('CreateLoanOffer', 1),
    ...at('ApproveRequest', 2),
    ...at('AcceptRepayment', 3),
    ...at('AcceptRepayment', 9),
  ]
  const loan = entries(life).reduce<Loan | undefined>(evolveLoan, undefined)
  t.strictSame(loan?.times, { openedS: 1, agreedS: 2, endedS: 3 })
  t.equal(loan?.part.state, '5')
  t.end()
})

void t.test('amounts are exact for any uint256 and any decimals', (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      fc.integer({ min: 0, max: 255 }),
      (principal, decimals) => {
        const [offer] = ERC20_LIFE
        if (offer?.kind !== 'CreateLoanOffer') throw new Error('the life begins with an offer')
        const event = {
          ...offer,
          tokenDecimals: decimals,
          args: { ...offer.args, principal: String(principal) },
        }
        const part = entries([event]).reduce<Loan | undefined>(evolveLoan, undefined)?.part
        const text = part && 'interestAmount' in part ? part.principalAmount : null
        t.ok(text !== null && parseUnits(text, decimals) === principal)
        t.notMatch(text, /e|\.$|\.\d*0$/)
      },
    ),
  )
  t.end()
})

void t.test('an entry continues a loan only behind its last event', (t) => {
  const [made, next] = entries(ERC20_LIFE)
  const [first, second] = [made?.event, next?.event]
  if (!next || !first || !second) throw new Error('two events')
  const loan = evolveLoan(undefined, next)
  if (loan === undefined) throw new Error('a loan')
  const last = { blockNumber: loan.lastBlock, logIndex: loan.lastLogIndex }
  t.ok(isAfter(first, null))
  t.notOk(isAfter(first, last))
  t.notOk(isAfter(second, last))
  t.ok(isAfter({ ...second, logIndex: second.logIndex + 1 }, last))
  t.end()
})

void t.test('segments keep the order, never cut a step, and let only appends stand together', (t) => {
  const ops = fc.constantFrom<LogEntry['op']>('append', 'append', 'replace', 'retract')
  fc.assert(
    fc.property(fc.array(fc.array(ops, { minLength: 1, maxLength: 4 }), { maxLength: 20 }), (steps) => {
      const [any] = entries(ERC20_LIFE)
      let position = 0
      const log = steps.flatMap((step) => {
        const first = position + 1
        return step.map((op): LogEntry => {
          position += 1
          return {
            ...any,
            op,
            event: op === 'retract' ? null : any?.event,
            position,
            step: first,
          } as LogEntry
        })
      })
      const segments = segmentsOf(log, false)
      t.strictSame(segments.flat(), log)
      for (const segment of segments) {
        const cut = segments.some(
          (other) =>
            other !== segment && other.some((entry) => segment.some((mine) => mine.step === entry.step)),
        )
        t.notOk(cut)
        const mixed = new Set(segment.map((entry) => entry.step)).size > 1
        t.ok(!mixed || segment.every((entry) => entry.op === 'append'))
      }
    }),
  )
  t.end()
})
