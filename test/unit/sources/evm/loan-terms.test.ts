import { AbiCoder } from 'ethers'
import t from 'tap'
import { functionLayout } from '../../../../indexer/sources/evm/contracts.ts'
import type { DecodedEvent } from '../../../../indexer/sources/evm/decode-log.ts'
import type { LoanState, TransactionInput } from '../../../../indexer/sources/evm/decode-loan.ts'
import { completeEvent, lacksTerms, needsTransaction } from '../../../../indexer/sources/evm/loan-terms.ts'

const LENDER = '0x00000000000000000000000000000000000000B1'
const TOKEN = '0x00000000000000000000000000000000000000AA'
const CONTRACT = '0x00000000000000000000000000000000000000C1'
const HASH = `0x${'ab'.repeat(32)}`

const offer: DecodedEvent = {
  kind: 'CreateLoanOffer',
  contractLoanId: '7',
  args: { lender: LENDER, principal: '100', token: TOKEN },
}
const unlock: DecodedEvent = {
  kind: 'UnlockCollateral',
  contractLoanId: '7',
  args: { borrower: LENDER, collateralAmount: '1', token: TOKEN },
}
const common = {
  borrower: LENDER,
  lender: LENDER,
  filBorrower: '0x01',
  filLender: '0x02',
  secretHashA1: HASH,
  secretHashB1: HASH,
  secretA1: '0x',
  secretB1: '0x',
  loanExpiration: '1',
  loanExpirationPeriod: '60',
  paymentChannelId: HASH,
  token: TOKEN,
}
const funded: LoanState = {
  ...common,
  role: 'erc20Loans',
  acceptExpiration: '2',
  principal: '100',
  interest: '5',
  collateral: '0',
  state: 0,
}
const locked: LoanState = {
  ...common,
  role: 'erc20CollateralLock',
  createdAt: '1',
  collateralAmount: '0',
  principalAmount: '1',
  lockPrice: '1',
  liquidationPrice: '0',
  interestRate: '1',
  state: 3,
}

const input = (changes: Partial<{ principal: bigint; interest: bigint }> = {}): string => {
  const { selector, types } = functionLayout('erc20Loans', 'createLoanOffer')
  const { principal = 100n, interest = 5n } = changes
  const values = [HASH, '0x02', principal, interest, TOKEN, 60n]
  return selector + AbiCoder.defaultAbiCoder().encode(types, values).slice(2)
}
const direct: TransactionInput = { from: LENDER.toLowerCase(), to: CONTRACT.toLowerCase(), input: input() }
const terms = (
  event: DecodedEvent,
  loan: LoanState | string,
  transaction: TransactionInput | string | null,
): unknown => completeEvent(event, CONTRACT, { loan, transaction }).terms

void t.test('fetchLoan in the event’s own state is enough', (t) => {
  t.equal(lacksTerms(offer), true)
  t.equal(needsTransaction(completeEvent(offer, CONTRACT, { loan: funded, transaction: null })), false)
  t.same(terms(offer, funded, null), {
    values: { secretHashB1: HASH, filLender: '0x02', interest: '5', loanExpirationPeriod: '60' },
  })
  t.end()
})

void t.test('after a later transition the interest comes from the input only', (t) => {
  const cancelled = { ...funded, state: 6, interest: '0' }
  t.equal(needsTransaction(completeEvent(offer, CONTRACT, { loan: cancelled, transaction: null })), true)
  t.match(terms(offer, cancelled, direct), { values: { interest: '5' }, unknown: undefined })
  const why = (transaction: TransactionInput | string): unknown => terms(offer, cancelled, transaction)
  t.match(why({ ...direct, to: null }), {
    values: { interest: null },
    unknown: { interest: /no direct call/ },
  })
  t.match(why({ ...direct, input: '0x12345678' }), { unknown: { interest: /does not call createLoanOffer/ } })
  t.match(why({ ...direct, input: input().slice(0, -64) }), { unknown: { interest: /does not decode/ } })
  t.match(why({ ...direct, input: input({ principal: 99n }) }), {
    unknown: { interest: /not what the event says/ },
  })
  t.match(why({ ...direct, from: TOKEN.toLowerCase() }), { unknown: { interest: /not what the event says/ } })
  t.match(why('the transaction is not available'), { unknown: { interest: /not available/ } })
  t.end()
})

void t.test('every term of every kind is read from the loan as its event left it', (t) => {
  const request = { ...locked, state: 0 }
  const secrets = { ...locked, secretA1: '0x0a', secretB1: '0x0b', liquidationPrice: '9' }
  const asOf: [DecodedEvent['kind'], LoanState, object][] = [
    ['CreateLoanOffer', funded, { interest: '5', loanExpirationPeriod: '60' }],
    ['ApproveRequest', funded, { loanExpiration: '1', acceptExpiration: '2' }],
    ['CreateBorrowRequest', request, { filBorrower: '0x01', principalAmount: '1', interestRate: '1' }],
    ['AcceptOffer', locked, { loanExpiration: '1', lockPrice: '1' }],
    ['UnlockCollateral', secrets, { secretB1: '0x0b' }],
    ['SeizeCollateral', secrets, { liquidationPrice: '9', secretA1: '0x0a' }],
  ]
  for (const [kind, loan, values] of asOf) {
    const found = terms({ ...unlock, kind } as DecodedEvent, loan, null)
    t.match(found, { values }, kind)
    t.notOk('unknown' in Object(found), kind)
  }
  t.match(terms(offer, locked, null), { unknown: { interest: /another contract/ } })
  t.end()
})

void t.test('nothing from nowhere: every term is null, each with its reason', (t) => {
  const result = completeEvent(offer, CONTRACT, { loan: 'fetchLoan reverted', transaction: 'gone' })
  t.ok(Object.values(result.terms.values).every((value) => value === null))
  t.same(Object.keys(result.terms.unknown ?? {}).sort(), Object.keys(result.terms.values).sort())
  t.equal(result.terms.unknown?.['filLender'], 'fetchLoan reverted; gone')
  t.end()
})

void t.test('an empty secret is no secret', (t) => {
  t.match(terms(unlock, locked, 'gone'), {
    values: { secretB1: null },
    unknown: { secretB1: /fetchLoan shows no secret/ },
  })
  t.same(
    terms(unlock, { ...locked, secretB1: '0x00' }, null),
    { values: { secretB1: '0x00' } },
    'zero bytes are one',
  )
  t.same(terms(unlock, { ...locked, secretB1: '0x0102' }, null), { values: { secretB1: '0x0102' } })
  t.end()
})

void t.test('what a request asked for: fetchLoan shows it unless an offer was accepted', (t) => {
  const request: DecodedEvent = {
    kind: 'CreateBorrowRequest',
    contractLoanId: '7',
    args: { borrower: LENDER, collateralAmount: '1', token: TOKEN },
  }
  const asked = (state: number, principalAmount = '17'): unknown => {
    const loan: LoanState = { ...locked, state, principalAmount }
    const event = completeEvent(request, CONTRACT, { loan, transaction: 'not asked for' })
    return event.kind === 'CreateBorrowRequest' && event.terms.values.principalAmount
  }
  t.equal(asked(0), '17', 'open')
  t.equal(asked(4), '17', 'cancelled in the same block')
  t.equal(asked(4, '0'), null, 'cancelled, by a contract that sets it to zero')
  for (const state of [1, 2, 3]) t.equal(asked(state), null, `accepted: state ${state}`)
  t.end()
})
