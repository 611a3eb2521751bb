import { sql } from 'kysely'
import t from 'tap'
import { erc20LoanAnswer, filLoanAnswer } from '../../../api/schemas/loan.ts'
import { updateChannel, voucherFacts } from '../../helpers/channel-events.ts'
import { testApi } from '../../helpers/api.ts'
import { ingestLedger, ingestStories, EVM, FILECOIN, handIn } from '../../helpers/ingest-ledger.ts'
import { person, tellStories, type TwoChains } from '../../helpers/two-chain-stories.ts'

/** The first `count` events of the Filecoin ledger, and the first of the EVM one. */
function cut(chains: TwoChains, evm: number, filecoin: number): TwoChains {
  return { ...chains, evm: chains.evm.slice(0, evm), filecoin: chains.filecoin.slice(0, filecoin) }
}

interface Answer {
  payload: Record<string, Record<string, string | undefined>>
}

async function erc20(t: Parameters<typeof testApi>[0], chains: TwoChains) {
  const api = await testApi(t)
  await ingestStories(api.db, chains)
  const answer = await api.app.inject('/api/loan/ERC20/1')
  return erc20LoanAnswer.parse(answer.json()).payload
}

async function fil(t: Parameters<typeof testApi>[0], chains: TwoChains) {
  const api = await testApi(t)
  await ingestStories(api.db, chains)
  const answer = await api.app.inject('/api/loan/FIL/1')
  return filLoanAnswer.parse(answer.json()).payload
}

void t.test('a repaid token loan shows its whole collateral', async (t) => {
  const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 })
  const { erc20Loan, filCollateral, loanEvents } = await erc20(t, chains)
  const [made] = chains.filecoin
  if (made?.kind !== 'CreateChannel') throw new Error('no channel')
  const settled = chains.filecoin.find((event) => event.kind === 'SettleChannel')
  t.match(erc20Loan, { state: '5' })
  t.match(filCollateral, {
    paymentChannelId: made.channelId,
    paymentChannelAddress: made.channel,
    filBorrower: person('borrower of 1/1').asWritten,
    filLender: person('lender of 1/1').asWritten,
    ethBorrower: erc20Loan.borrower,
    ethLender: erc20Loan.lender,
    amount: '5.000000000000000007',
    txHash: made.txHash,
    secretHashA1: erc20Loan.secretHashA1,
    secretA1: 'a1 of erc20Loans/1',
    secretB1: 'b1 of erc20Loans/1',
    network: 'testnet',
    settlingAtHeight: String((settled?.blockNumber ?? 0) + 1440),
    settlingAtEstTimestamp: String((settled?.blockTimeS ?? 0) + 1440 * 30),
    erc20LoanId: erc20Loan.id,
    erc20LoanContractId: '1',
    erc20LoansContract: erc20Loan.erc20LoansContract,
    erc20LoansNetworkId: '31337',
    state: '5',
  })
  t.match(filCollateral, { signedVoucher: /^text-of-/, unlockSignedVoucher: /^text-of-/ })
  t.equal(loanEvents.length, chains.expected.length)
})

void t.test('the states of a token loan and its collateral, step by step', async (t) => {
  const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 0 })
  const whole = { ...tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 }) }
  const [seize, unlock] = whole.offchain
  if (seize === undefined || unlock === undefined) throw new Error('no vouchers')
  const states = async (evm: number, filecoin: number, vouchers: TwoChains['offchain']): Promise<string> => {
    const { erc20Loan, filCollateral } = await erc20(t, { ...cut(chains, evm, filecoin), offchain: vouchers })
    return `${erc20Loan.state ?? ''}/${'state' in filCollateral ? (filCollateral.state ?? '') : '-'}`
  }
  t.equal(await states(1, 0, []), '0/-')
  t.equal(await states(1, 1, []), '0/0')
  t.equal(await states(1, 1, [seize]), '0.5/1', 'the borrower’s voucher is known')
  t.equal(await states(2, 1, [seize]), '1/1')
  t.equal(await states(3, 1, [seize, unlock]), '2/2')
  t.equal(await states(5, 3, [seize, unlock]), '5/3')
  t.equal(await states(5, 4, [seize, unlock]), '5/4')
  t.equal(await states(5, 5, [seize, unlock]), '5/5')
})

void t.test('a seized collateral, and one that is taken back after a cancellation', async (t) => {
  const seized = await erc20(t, tellStories(1, 1, { market: 'erc20', end: 'seized' }))
  t.match(seized, {
    erc20Loan: { state: '2' },
    filCollateral: { state: '8', secretA1: 'a1 of erc20Loans/1' },
  })
  const cancelled = await erc20(t, tellStories(1, 1, { market: 'erc20', end: 'cancelled' }))
  t.match(cancelled, { erc20Loan: { state: '6' }, filCollateral: { state: '5', signedVoucher: null } })
})

void t.test('a repaid FIL loan shows principal and payback', async (t) => {
  const chains = tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 })
  const { collateralLock, filLoan, filPayback, loanEvents } = await fil(t, chains)
  const lockFields = {
    collateralLockId: collateralLock.id,
    collateralLockContractId: '1',
    collateralLockContractAddress: collateralLock.collateralLockContractAddress,
    collateralLockNetworkId: '31337',
  }
  const lender = person('lender of 1/1').asWritten
  const borrower = person('borrower of 1/1').asWritten
  t.match(collateralLock, { state: '3' })
  t.match(filLoan, {
    ...lockFields,
    filLender: lender,
    filBorrower: borrower,
    lockedAmount: '5',
    principalAmount: '5',
    secretA1: 'a1 of erc20CollateralLock/1',
    state: '4',
  })
  t.match(filPayback, {
    ...lockFields,
    filLender: lender,
    filBorrower: borrower,
    amount: '5',
    secretB1: 'b1 of erc20CollateralLock/1',
    state: '4',
  })
  t.equal(loanEvents.length, chains.expected.length)
})

void t.test('the states of a FIL loan, step by step', async (t) => {
  const chains = tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 0 })
  const { offchain } = tellStories(1, 1, { market: 'fil', end: 'repaid', handedIn: 1 })
  const states = async (evm: number, filecoin: number, vouchers: number): Promise<string> => {
    const parts = await fil(t, { ...cut(chains, evm, filecoin), offchain: offchain.slice(0, vouchers) })
    const of = (part: object): string => ('state' in part ? String(part.state) : '-')
    return [parts.collateralLock, parts.filLoan, parts.filPayback].map(of).join('/')
  }
  t.equal(await states(1, 0, 0), '0/-/-')
  t.equal(await states(1, 1, 0), '0.5/0/-', 'the lender’s channel is known')
  t.equal(await states(2, 1, 0), '1/0/-')
  t.equal(await states(2, 1, 1), '1/1/-')
  t.equal(await states(2, 2, 1), '1/2/-')
  t.equal(await states(2, 3, 1), '1/3/-')
  t.equal(await states(2, 4, 1), '1/4/-')
  t.equal(await states(2, 5, 1), '1/4/0')
  t.equal(await states(2, 5, 2), '1/4/1')
  t.equal(await states(3, 8, 2), '3/4/4')
})

void t.test('a loan that waits is not ahead through a channel that was given up', async (t) => {
  const lent = cut(tellStories(1, 1, { market: 'fil', end: 'cancelled' }), 1, 2)
  t.match(await fil(t, lent), { collateralLock: { state: '0' }, filLoan: { state: '3' } })
  const { offchain } = tellStories(1, 1, { market: 'erc20', end: 'seized', handedIn: 1 })
  const borrowed = { ...cut(tellStories(1, 1, { market: 'erc20', end: 'cancelled' }), 1, 2), offchain }
  t.match(await erc20(t, borrowed), { erc20Loan: { state: '0' }, filCollateral: { state: '4' } })
})

void t.test('hostile secrets and vouchers end in valid answers', async (t) => {
  const chains = tellStories(1, 1, { market: 'erc20', end: 'seized', handedIn: 0 })
  const secrets = ['0x', '0x00', '0xfffe', `0x${'00'.repeat(256)}`, '0xefbbbf41', '0x22', '0x5c', '0xe2808e']
  const shown = [] as unknown[]
  for (const secret of secrets) {
    const filecoin = chains.filecoin.map((event) =>
      event.kind === 'UpdateChannel'
        ? { ...event, secret, voucher: { ...event.voucher, text: null } }
        : event,
    )
    const evm = chains.evm.map((event) =>
      event.kind === 'Withdraw' ? { ...event, args: { ...event.args, secretA1: secret } } : event,
    )
    const { filCollateral } = await erc20(t, { ...chains, evm, filecoin })
    shown.push('secretA1' in filCollateral ? filCollateral.secretA1 : 'none')
  }
  t.same(shown, ['', '0x00', '0xfffe', `0x${'00'.repeat(256)}`, '\ufeffA', '"', '\\', '\u200e'])
})

void t.test(
  'a channel that fits no loan is kept and shows nowhere; the loan it turns out to be for gets it',
  async (t) => {
    const api = await testApi(t)
    const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 1 })
    await ingestLedger(api.db, FILECOIN, chains.filecoin)
    await handIn(api.db, chains.offchain)
    t.match((await api.app.inject('/api/activity/history')).json(), { payload: [], pages: 0 })
    await ingestLedger(api.db, EVM, chains.evm)
    const { filCollateral, loanEvents } = erc20LoanAnswer.parse(
      (await api.app.inject('/api/loan/ERC20/1')).json(),
    ).payload
    t.match(filCollateral, { state: '5' })
    t.equal(loanEvents.length, chains.expected.length)
  },
)

void t.test('a voucher of a stranger changes nothing', async (t) => {
  const chains = tellStories(1, 1, { market: 'erc20', end: 'repaid', handedIn: 0 })
  const made = chains.filecoin[0]
  if (made?.kind !== 'CreateChannel') throw new Error('no channel')
  const facts = voucherFacts({ key: 'stranger', channelAddr: made.channel, secretHash: '0xaa' })
  const redeemed = updateChannel({
    height: made.blockNumber + 1,
    to: made.channel,
    voucher: facts,
    sender: person('stranger'),
  })
  const { filCollateral, loanEvents } = await erc20(t, { ...cut(chains, 1, 1), filecoin: [made, redeemed] })
  t.match(filCollateral, { state: '0', signedVoucher: null })
  t.equal(loanEvents.length, 2)
})

void t.test('every id that an answer has of a loan leads to that loan, with a prefix too', async (t) => {
  const api = await testApi(t)
  for (const market of ['erc20', 'fil'] as const) {
    const chains = tellStories(1, 2, { market, end: 'repaid', handedIn: 1 })
    const evm = chains.evm.map((event) =>
      'loanId' in event ? { ...event, loanId: `goerli-${event.contractLoanId}` } : event,
    )
    await sql`truncate ledger.chain_position, ledger.event_log, projection.loans, projection.loan_lists, projection.channels,
      projection.activity, projection.activity_counts, projection.activity_past, projection.loan_lists_past, projection.daily, projection.derived_states, projection.channels_past,
      ledger.channel_addresses, ledger.block_positions`.execute(api.db)
    await ingestStories(api.db, { ...chains, evm })
    const route = market === 'erc20' ? 'ERC20' : 'FIL'
    for (const number of ['1', '2']) {
      const answer = (await api.app.inject(`/api/loan/${route}/goerli-${number}`)).json<Answer>()
      const ids = Object.values(answer.payload).flatMap(
        ({ erc20LoanId, collateralLockId, contractLoanId, id }) =>
          [erc20LoanId, collateralLockId, contractLoanId === undefined ? undefined : id].filter((one) => one),
      )
      t.strictSame(
        ids,
        Array.from({ length: ids.length }, () => `goerli-${number}`),
      )
      t.ok(ids.length > 1, `${market}: the contract's half and ${ids.length - 1} others`)
      t.ok(Object.values(answer.payload).some(({ contractLoanId }) => contractLoanId === number))
    }
  }
})
