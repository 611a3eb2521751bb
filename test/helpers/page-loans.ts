import type { ActivityRecord, LoanVoucher } from '../../client/generated/types.gen.ts'
import { loanModel, type LoanAnswer, type LoanModel } from '../../api/page/views/loan/loan-model.ts'

/** Answers of the lookups, as the page receives them. */

export const HASH_A1 = `0x${'a1'.repeat(32)}`
export const HASH_B1 = `0x${'b1'.repeat(32)}`
export const CHANNEL = 't2awhecrbr574isyarwew2uwwjjxzmc32e5o7damq'
/** `t01043` as a contract keeps it. */
export const NAMED = `0x743031303433${'00'.repeat(26)}`

export function recordOf(id: number, event: string): ActivityRecord {
  const isFil = event.includes('/')
  return {
    id,
    txHash: `0x${id}`,
    event,
    loanId: '1',
    blockchain: isFil ? 'FIL' : 'DEVNET',
    networkId: isFil ? 'testnet' : '31337',
    contractAddress: null,
    loanType: 'ERC20FIL',
    createdAt: '2026-11-28T19:12:07.874Z',
    updatedAt: '2026-11-28T19:12:07.874Z',
  }
}

type Terms = Extract<LoanAnswer['payload'], { erc20Loan: unknown }>['erc20Loan']
type Collateral = Extract<LoanAnswer['payload'], { filCollateral: unknown }>['filCollateral']

/** A loan of tokens in state 2 with a channel that the contract names; fields as given. */
export function tokenLoan({
  events = [],
  loan = {},
  channel = {},
  explain = {},
}: {
  events?: string[]
  loan?: Partial<Terms>
  channel?: Partial<Collateral> | null
  explain?: Record<string, Record<string, number[]>>
}): LoanModel {
  const at = { createdAt: '2026-11-28T19:12:07.874Z', updatedAt: '2026-11-28T19:12:07.874Z' }
  const terms: Terms = {
    id: '1',
    contractLoanId: '1',
    borrower: '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853',
    lender: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    filBorrower: '0x743031303232',
    filLender: '0x743031303135',
    secretHashA1: HASH_A1,
    secretHashB1: HASH_B1,
    secretA1: null,
    secretB1: null,
    loanExpiration: '1795893158',
    acceptExpiration: '1795893218',
    loanExpirationPeriod: '31',
    principalAmount: '13697.064280037449960157',
    interestAmount: '201.346844916550514414',
    collateralAmount: '1722.901167300308171058',
    paymentChannelId: NAMED,
    state: '2',
    blockchain: 'DEVNET',
    networkId: '31337',
    erc20LoansContract: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9',
    token: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
    ...at,
    ...loan,
  }
  const collateral: Collateral = {
    id: '11',
    paymentChannelId: 't01043',
    paymentChannelAddress: CHANNEL,
    ethBorrower: terms.borrower,
    ethLender: terms.lender,
    filBorrower: 't1odd7vlkzel6ajqebo63dhrvll2tclqryp7s2eza',
    filLender: 't1fukgbedwy3a5yinjl3ldya33anlmhuhvl77bx2i',
    amount: '1722.901167300308171058',
    txHash: 'bafy2bzacec3djhurk7crnvveboqchipoiwhsnht5fi6givfdin4ojdwl35qbi',
    secretHashA1: HASH_A1,
    secretA1: null,
    secretB1: null,
    signedVoucher: 'i0MAkwgAAFgg',
    unlockSignedVoucher: null,
    network: 'testnet',
    settlingAtHeight: null,
    settlingAtEstTimestamp: null,
    erc20LoanId: '1',
    erc20LoanContractId: '1',
    erc20LoansContract: terms.erc20LoansContract,
    erc20LoansNetworkId: '31337',
    state: '1',
    ...at,
    ...channel,
  }
  return loanModel({
    status: 'OK',
    payload: {
      erc20Loan: terms,
      filCollateral: channel === null ? {} : collateral,
      loanEvents: events.map((event, index) => recordOf((index + 1) * 1_000_000, event)),
      loanEventsTotal: events.length,
    },
    explain,
  })
}

export function voucherOf(given: Partial<LoanVoucher> = {}): LoanVoucher {
  const never = { epoch: '0', time: null }
  return {
    id: 'fd262ccad6b651cbfe0000799948f98ef886694ebc488c89e10b8affd1c6ef8a',
    role: 'collateral',
    channel: { network: 'filecoin:testnet', id: 't01043', robust: CHANNEL, shown: true },
    use: 'seize',
    signedBy: 'borrower',
    signer: null,
    lane: '0',
    nonce: '0',
    amount: '1722.901167300308171058',
    secretHash: HASH_A1,
    timeLockMin: never,
    timeLockMax: never,
    minSettleHeight: never,
    text: 'i0MAkwgAAFgg',
    redeemable: { now: false, from: null, until: null },
    supersededBy: null,
    redeemed: null,
    problems: [],
    ...given,
  }
}
