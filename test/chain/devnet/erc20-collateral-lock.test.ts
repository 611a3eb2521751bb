import t, { type Test } from 'tap'
import { filPrice } from '../../../devnet/evm/deploy.ts'
import { a1, b1, hashA1, hashB1, openMarkets, type SentEvent } from './markets.ts'

/** What ERC20CollateralLock allows and refuses, and what `fetchLoan` says of a loan afterwards. */

const period = 100
const collateral = 1_000_000_007n
const fil = 10n ** 18n
const principal = 10n * fil
const rate = fil / 10n
const channel = `0x${'743031323334'.padEnd(64, '0')}`
const [filLender, filBorrower] = ['0x74316c', '0x743162']

const markets = await openMarkets(t)
const { lender, borrower, stranger, deployment } = markets
const token = deployment.tokens.six

const send = (from: string, method: string, ...args: unknown[]): Promise<SentEvent[]> =>
  markets.send(from, 'erc20CollateralLock', method, ...args)
const request = (of = token): Promise<SentEvent[]> =>
  send(borrower, 'createBorrowRequest', hashA1, filBorrower, collateral, of, principal, rate, period)
const accept = (from: string, loanId: number): Promise<SentEvent[]> =>
  send(from, 'acceptOffer', loanId, lender, filLender, hashB1, channel, principal)

async function requested(of?: string): Promise<number> {
  const [event] = await request(of)
  return Number(event?.args[0])
}
async function locked(of?: string): Promise<number> {
  const loanId = await requested(of)
  await accept(borrower, loanId)
  return loanId
}

async function refused(t: Test, attempt: Promise<unknown>, reason: string): Promise<void> {
  await t.rejects(attempt, { message: new RegExp(reason) }, reason)
}

await t.test('a loan from the request to the unlocked collateral', async (t) => {
  const before = await markets.balance(token, borrower)
  const created = await request()
  const loanId = Number(created[0]?.args[0])
  const createdAt = BigInt(await markets.time())
  t.same(created, [{ name: 'CreateBorrowRequest', args: [BigInt(loanId), borrower, collateral, token] }])
  t.equal(await markets.balance(token, borrower), before - collateral)
  t.same(await accept(borrower, loanId), [
    { name: 'AcceptOffer', args: [BigInt(loanId), lender, filLender, hashB1, channel, principal] },
  ])
  const expiration = BigInt((await markets.time()) + period)
  t.same(await markets.fetchLoan('erc20CollateralLock', loanId), {
    actors: [borrower, lender],
    filAddresses: [filBorrower, filLender],
    secretHashes: [hashA1, hashB1],
    secrets: ['0x', '0x'],
    expirations: [expiration, createdAt, BigInt(period)],
    details: [collateral, principal, filPrice, 0n, rate],
    paymentChannelId: channel,
    token,
    state: 1n,
  })
  t.same(await send(borrower, 'unlockCollateral', loanId, b1), [
    { name: 'UnlockCollateral', args: [BigInt(loanId), borrower, collateral, token] },
  ])
  t.equal(await markets.balance(token, borrower), before)
  const closed = await markets.fetchLoan('erc20CollateralLock', loanId)
  t.same([closed.details[0], closed.state], [0n, 3n], 'the collateral is zero at latest')
  t.equal(closed.secrets[1], `0x${Buffer.from(b1).toString('hex')}`)
})

await t.test(
  'a seizure pays the debt to the lender and the rest to the borrower, in two events',
  async (t) => {
    const loanId = await locked()
    await markets.passTime(period + 1)
    const before = [await markets.balance(token, lender), await markets.balance(token, borrower)]
    // 10 FIL and a tenth, at 5 tokens each, in a token with 6 decimals.
    const debt = 55_000_000n
    t.same(await send(lender, 'seizeCollateral', loanId, a1), [
      { name: 'SeizeCollateral', args: [BigInt(loanId), lender, debt, token] },
      { name: 'UnlockRefundableCollateral', args: [BigInt(loanId), borrower, collateral - debt, token] },
    ])
    t.equal(await markets.balance(token, lender), (before[0] ?? 0n) + debt)
    t.equal(await markets.balance(token, borrower), (before[1] ?? 0n) + collateral - debt)
    const seized = await markets.fetchLoan('erc20CollateralLock', loanId)
    t.same([seized.details, seized.state], [[0n, principal, filPrice, filPrice, rate], 2n])
  },
)

await t.test('a seizure takes all of a collateral that is worth less than the debt', async (t) => {
  const loanId = await locked(deployment.tokens.eighteen)
  await markets.passTime(period + 1)
  const [seizure, refund] = await send(lender, 'seizeCollateral', loanId, a1)
  t.same([seizure?.args[2], refund?.args[2]], [collateral, 0n])
})

await t.test('tokens without, or with absurd, decimals go through a loan like others', async (t) => {
  for (const bad of Object.values(deployment.badTokens)) {
    const loanId = await locked(bad)
    await markets.passTime(period + 1)
    const events = await send(lender, 'seizeCollateral', loanId, a1)
    t.equal(events.length, 2)
  }
})

await t.test('who may do what, with which secret, in which state, when', async (t) => {
  await refused(t, send(borrower, 'cancelBorrowRequest', 999, a1), 'no-such-loan')
  const open = await requested()
  await refused(t, accept(stranger, open), 'not-the-borrower')
  await refused(t, send(borrower, 'unlockCollateral', open, b1), 'wrong-state')
  await refused(t, send(borrower, 'cancelBorrowRequest', open, b1), 'wrong-secret')
  await refused(t, send(lender, 'cancelBorrowRequest', open, a1), 'not-the-borrower')
  const [cancelled] = await send(borrower, 'cancelBorrowRequest', open, a1)
  t.same(cancelled?.name, 'CancelBorrowRequest')
  const loan = await markets.fetchLoan('erc20CollateralLock', open)
  t.same([loan.details[0], loan.state], [0n, 4n])
  t.equal(loan.secrets[0], '0x', 'as the original: it is emitted and not stored')
  await refused(t, accept(borrower, open), 'wrong-state')
  const loanId = await locked()
  await refused(t, send(borrower, 'cancelBorrowRequest', loanId, a1), 'wrong-state')
  await refused(t, send(lender, 'unlockCollateral', loanId, b1), 'not-the-borrower')
  await refused(t, send(borrower, 'unlockCollateral', loanId, a1), 'wrong-secret')
  await refused(t, send(lender, 'seizeCollateral', loanId, a1), 'loan-not-expired')
  await markets.passTime(period + 1)
  await refused(t, send(lender, 'seizeCollateral', loanId, b1), 'wrong-secret')
  await refused(t, send(borrower, 'seizeCollateral', loanId, a1), 'not-the-lender')
})
