import t from 'tap'
import { loanModel } from '../../../api/page/views/loan/loan-model.ts'
import { stateWords } from '../../../api/page/views/loan/state-words.ts'
import {
  COLLATERAL_STATES,
  ERC20_LOAN_STATES,
  LOCK_STATES,
  PAY_STATES,
} from '../../../api/loan-life/steps.ts'
import { recordOf, tokenLoan } from '../../helpers/page-loans.ts'

void t.test('a loan of tokens shows its amounts, parties, deadlines and channel', (t) => {
  const loan = tokenLoan({ events: ['CreateLoanOffer'] })
  t.strictSame(
    loan.amounts.map(({ label, value, unit }) => [label, value, unit]),
    [
      ['Principal', '13697.064280037449960157', 'token'],
      ['Interest', '201.346844916550514414', 'token'],
      ['Collateral', '1722.901167300308171058', 'FIL'],
    ],
  )
  t.equal(loan.borrower.filecoin, 't1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza')
  t.equal(loan.namedChannel, 't01043')
  t.strictSame(
    loan.deadlines.map(({ field, at }) => [field, new Date(at).toISOString()]),
    [
      ['loanExpiration', '2026-11-28T19:12:38.000Z'],
      ['acceptExpiration', '2026-11-28T19:13:38.000Z'],
    ],
  )
  t.equal(loan.step, 'repay')
  t.end()
})

void t.test(
  'before the agreement the channel is missing and the parties are as the contract has them',
  (t) => {
    const loan = tokenLoan({
      channel: null,
      loan: { state: '0', loanExpiration: null, acceptExpiration: null, collateralAmount: null },
    })
    t.strictSame(loan.channels, [])
    t.strictSame(loan.deadlines, [])
    t.equal(loan.lender.filecoin, 't01015')
    t.equal(loan.step, 'lock collateral')
    t.end()
  },
)

void t.test('the collateral of an open offer is that of its channel', (t) => {
  const { amounts } = tokenLoan({ loan: { state: '0.5', collateralAmount: null } })
  t.strictSame(amounts[2], {
    label: 'Collateral',
    value: '1722.901167300308171058',
    unit: 'FIL',
    part: 'filCollateral',
    field: 'amount',
  })
  t.end()
})

void t.test('a secret is revealed by the contract, or by a channel alone', (t) => {
  const secrets = (given: Parameters<typeof tokenLoan>[0]): (string | null)[] =>
    tokenLoan(given).secrets.flatMap(({ text, part }) => [text, part])
  t.strictSame(secrets({}), [null, 'erc20Loan', null, 'erc20Loan'])
  t.strictSame(secrets({ loan: { secretA1: '0x61' }, channel: { secretA1: 'a', secretB1: 'b' } }), [
    '0x61',
    'erc20Loan',
    'b',
    'filCollateral',
  ])
  t.end()
})

void t.test('a moment that no clock has is no deadline', (t) => {
  const loan = tokenLoan({ loan: { loanExpiration: '9'.repeat(78), acceptExpiration: '0' } })
  t.strictSame(loan.deadlines, [])
  t.end()
})

void t.test('a loan of FIL has a channel for each way', (t) => {
  const at = { createdAt: '2026-11-28T19:12:07.874Z', updatedAt: '2026-11-28T19:12:07.874Z' }
  const channel = {
    ...{ id: '1', paymentChannelId: 't01', paymentChannelAddress: 't2a', txHash: null, network: 'testnet' },
    ...{ filLender: 't1lender', filBorrower: 't1borrower', secretHashB1: null, signedVoucher: null },
    ...{ settlingAtHeight: '16', settlingAtEstTimestamp: '1795893153', state: '3', ...at },
    ...{ collateralLockId: '1', collateralLockContractId: '1', collateralLockContractAddress: null },
    collateralLockNetworkId: '31337',
  }
  const loan = loanModel({
    status: 'OK',
    payload: {
      collateralLock: {
        ...{ id: '1', contractLoanId: '1', paymentChannelId: null, borrower: null, lender: null },
        ...{ filBorrower: null, filLender: null, secretHashA1: null, secretHashB1: null },
        ...{ secretA1: null, secretB1: null, loanExpiration: '1795893177', loanExpirationPeriod: '47' },
        ...{ collateralAmount: '9062.147802', principalAmount: '846.9', interestRate: '0.1177' },
        ...{ lockPrice: '5', liquidationPrice: null, state: '1', blockchain: 'DEVNET', networkId: '31337' },
        ...{ collateralLockContractAddress: null, token: null, ...at },
      },
      filLoan: {
        ...channel,
        ethLender: null,
        ethBorrower: null,
        lockedAmount: '846.9',
        principalAmount: null,
        secretA1: null,
      },
      filPayback: { ...channel, state: '1', amount: '900', secretB1: null },
      loanEvents: [recordOf(1, 'CreateBorrowRequest')],
      loanEventsTotal: 1,
    },
  })
  t.strictSame(
    loan.channels.map(({ role, funder, amount }) => [role, funder, amount]),
    [
      ['principal', 'lender', '846.9'],
      ['payback', 'borrower', '900'],
    ],
  )
  t.equal(loan.step, 'accept payback')
  t.strictSame(
    loan.deadlines.map(({ label }) => label),
    ['Repayment due', 'The principal channel settles', 'The payback channel settles'],
  )
  t.end()
})

void t.test('every state of every part has words', (t) => {
  const parts = {
    erc20Loan: ERC20_LOAN_STATES,
    collateralLock: LOCK_STATES,
    filCollateral: COLLATERAL_STATES,
    filLoan: PAY_STATES,
    filPayback: PAY_STATES,
  }
  for (const [part, states] of Object.entries(parts))
    for (const state of states) if (state !== '-') t.not(stateWords(part, state), `state ${state}`, part)
  t.equal(stateWords('erc20Loan', '99'), 'state 99')
  t.end()
})
