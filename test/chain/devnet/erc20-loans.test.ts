import t, { type Test } from 'tap'
import { acceptPeriod } from '../../../devnet/evm/deploy.ts'
import { hex } from '../../../devnet/evm/rpc.ts'
import { a1, b1, hashA1, hashB1, openMarkets, type SentEvent } from './markets.ts'

/** What ERC20Loans allows and refuses, and what `fetchLoan` says of a loan afterwards. */

const period = 100
const principal = 1_000_000_007n
const interest = 13n
const owed = principal + interest
const collateral = 5n * 10n ** 18n
const channel = `0x${'743031323334'.padEnd(64, '0')}`
const [filLender, filBorrower] = ['0x74316c', '0x743162']
const nobody = `0x${'0'.repeat(40)}`
const noHash = `0x${'0'.repeat(64)}`

const markets = await openMarkets(t)
const { lender, borrower, stranger, deployment } = markets
const token = deployment.tokens.six

const send = (from: string, method: string, ...args: unknown[]): Promise<SentEvent[]> =>
  markets.send(from, 'erc20Loans', method, ...args)
const create = (): Promise<SentEvent[]> =>
  send(lender, 'createLoanOffer', hashB1, filLender, principal, interest, token, period)
const approve = (from: string, loanId: number): Promise<SentEvent[]> =>
  send(from, 'approveRequest', loanId, borrower, filBorrower, hashA1, channel, collateral)

async function offered(): Promise<number> {
  const [event] = await create()
  return Number(event?.args[0])
}
async function approved(): Promise<number> {
  const loanId = await offered()
  await approve(lender, loanId)
  return loanId
}
async function withdrawn(): Promise<number> {
  const loanId = await approved()
  await send(borrower, 'withdraw', loanId, a1)
  return loanId
}
async function repaid(): Promise<number> {
  const loanId = await withdrawn()
  await send(borrower, 'payback', loanId)
  return loanId
}

async function refused(t: Test, attempt: Promise<unknown>, reason: string): Promise<void> {
  await t.rejects(attempt, { message: new RegExp(reason) }, reason)
}

async function left(loanId: number): Promise<{ state: bigint; details: bigint[] }> {
  const { state, details } = await markets.fetchLoan('erc20Loans', loanId)
  return { state, details }
}

await t.test('a loan from the offer to the accepted repayment', async (t) => {
  const before = [await markets.balance(token, lender), await markets.balance(token, borrower)]
  const created = await create()
  const loanId = Number(created[0]?.args[0])
  t.same(created, [{ name: 'CreateLoanOffer', args: [BigInt(loanId), lender, principal, token] }])
  t.same(await approve(lender, loanId), [
    {
      name: 'ApproveRequest',
      args: [BigInt(loanId), borrower, filBorrower, hashA1, channel, collateral],
    },
  ])
  const expiration = BigInt((await markets.time()) + period)
  const inUse = await markets.fetchLoan('erc20Loans', loanId)
  t.same(inUse, {
    actors: [borrower, lender],
    filAddresses: [filBorrower, filLender],
    secretHashes: [hashA1, hashB1],
    secrets: ['0x', '0x'],
    expirations: [expiration, expiration + BigInt(acceptPeriod), BigInt(period)],
    details: [principal, interest, collateral],
    paymentChannelId: channel,
    token,
    state: 1n,
  })
  const text = (secret: Uint8Array): string => `0x${Buffer.from(secret).toString('hex')}`
  t.same(await send(borrower, 'withdraw', loanId, a1), [
    { name: 'Withdraw', args: [BigInt(loanId), borrower, principal, token, text(a1)] },
  ])
  t.equal(await markets.balance(token, borrower), (before[1] ?? 0n) + principal)
  t.same(await send(borrower, 'payback', loanId), [
    { name: 'Payback', args: [BigInt(loanId), borrower, owed, token] },
  ])
  t.same(await send(lender, 'acceptRepayment', loanId, b1), [
    { name: 'AcceptRepayment', args: [BigInt(loanId), owed, token, text(b1)] },
  ])
  t.equal(await markets.balance(token, lender), (before[0] ?? 0n) + interest)
  const closed = await markets.fetchLoan('erc20Loans', loanId)
  t.same(closed.secrets, [text(a1), text(b1)], 'both secrets are public')
  t.same(await left(loanId), { state: 5n, details: [principal, interest, collateral] })
})

await t.test('who may do what, with which secret, in which state', async (t) => {
  await refused(t, send(borrower, 'withdraw', 999, a1), 'no-such-loan')
  const offer = await offered()
  const loan = await markets.fetchLoan('erc20Loans', offer)
  t.same(loan.actors, [nobody, lender])
  t.same(loan.secretHashes, [noHash, hashB1])
  await refused(t, approve(stranger, offer), 'not-the-lender')
  await refused(t, send(borrower, 'withdraw', offer, a1), 'wrong-state')
  await refused(t, send(lender, 'cancelLoan', offer, a1), 'wrong-secret')
  await refused(t, send(stranger, 'cancelLoan', offer, b1), 'not-the-lender')
  const loanId = await approved()
  await refused(t, approve(lender, loanId), 'wrong-state')
  await refused(t, send(stranger, 'withdraw', loanId, a1), 'not-the-borrower')
  await refused(t, send(borrower, 'withdraw', loanId, b1), 'wrong-secret')
  await refused(t, send(borrower, 'withdraw', loanId, a1.slice(1)), 'wrong-secret')
  await refused(t, send(borrower, 'payback', loanId), 'wrong-state')
  const spent = await repaid()
  await refused(t, send(lender, 'cancelLoan', spent, b1), 'wrong-state')
  await refused(t, send(lender, 'acceptRepayment', spent, a1), 'wrong-secret')
  await refused(t, send(borrower, 'refundPayback', spent), 'accept-period-not-expired')
})

await t.test(
  'as the original: a repayment is accepted from any caller, in any state, more than once',
  async (t) => {
    await refused(t, send(lender, 'acceptRepayment', await offered(), b1), 'accept-period-expired')
    const loanId = await approved()
    for (const caller of [stranger, borrower]) {
      const [accepted] = await send(caller, 'acceptRepayment', loanId, b1)
      t.same([accepted?.name, accepted?.args[1]], ['AcceptRepayment', owed])
      t.equal((await left(loanId)).state, 5n)
    }
    const cancelled = await approved()
    await send(lender, 'cancelLoan', cancelled, b1)
    await send(stranger, 'acceptRepayment', cancelled, b1)
    t.same(await left(cancelled), { state: 5n, details: [0n, 0n, 0n] })
  },
)

await t.test('a cancelled offer: before and after the approval, the amounts become zero', async (t) => {
  for (const make of [offered, approved]) {
    const loanId = await make()
    const atOffer = await markets.rpc.call(hex, 'eth_blockNumber')
    const [cancelled] = await send(lender, 'cancelLoan', loanId, b1)
    t.same([cancelled?.name, cancelled?.args[1]], ['CancelLoan', principal])
    t.same(await left(loanId), { state: 6n, details: [0n, 0n, 0n] }, 'nothing is left at latest')
    const earlier = await markets.fetchLoan('erc20Loans', loanId, atOffer)
    t.equal(earlier.details[0], principal, 'it is still there at the block of the offer')
  }
})

await t.test('expirations', async (t) => {
  const slow = await approved()
  const late = await withdrawn()
  await markets.passTime(period + 1)
  await refused(t, send(borrower, 'withdraw', slow, a1), 'loan-expired')
  await refused(t, send(borrower, 'payback', late), 'loan-expired')
  const loanId = await repaid()
  await markets.passTime(period + acceptPeriod + 1)
  await refused(t, send(lender, 'acceptRepayment', loanId, b1), 'accept-period-expired')
  await refused(t, send(lender, 'refundPayback', loanId), 'not-the-borrower')
  const before = await markets.balance(token, borrower)
  t.same(await send(borrower, 'refundPayback', loanId), [
    { name: 'RefundPayback', args: [BigInt(loanId), borrower, owed, token] },
  ])
  t.equal(await markets.balance(token, borrower), before + owed)
  t.same(await left(loanId), { state: 4n, details: [0n, 0n, collateral] })
})
