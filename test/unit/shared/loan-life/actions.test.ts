import t from 'tap'
import { ACTIONS, actionsOf } from '../../../../shared/loan-life/actions.ts'
import type { LinkedChannel, LoanLife } from '../../../../shared/loan-life/life.ts'
import { loanProblems } from '../../../../api/loan-life/loan-problems.ts'
import { nextOf } from '../../../../api/loan-life/next.ts'
import type { Channel } from '../../../../shared/channels/channel.ts'
import {
  channelOf,
  EPOCH,
  erc20Life,
  filLife,
  HASH,
  linked,
  NOW_S,
  redeemed,
  SECRET,
  settledAt,
  voucherOf,
} from '../../../helpers/loan-lives.ts'

const SEIZE = voucherOf('from')
const UNLOCK = voucherOf('recipient', { nonce: '2', amount: '0', secretHash: HASH.b1 })
const WITHDRAW = voucherOf('from')
const PAYBACK = voucherOf('from', { secretHash: HASH.b1 })
const collateral = (given: Partial<Channel> = {}): LinkedChannel => linked('collateral', channelOf(given))
const principal = (given: Partial<Channel> = {}): LinkedChannel =>
  linked('principal', channelOf({ robust: 't2principal', ...given }))
const payback = (given: Partial<Channel> = {}): LinkedChannel =>
  linked('payback', channelOf({ robust: 't2payback', ...given }))
const withdrawn = principal({ vouchers: [WITHDRAW], redemptions: [redeemed(WITHDRAW, SECRET.a1)] })
const LATE = { loanExpirationS: BigInt(NOW_S - 1), acceptExpirationS: BigInt(NOW_S - 1) }

/** `action actor`, with `later` where its time has not come. */
function offered(life: LoanLife): string[] {
  return actionsOf(life).map(({ action, actor, notBefore, basis }) => {
    const isLater = notBefore !== null && notBefore.time > (basis?.time ?? '')
    return `${action} ${actor}${isLater ? ' later' : ''}`
  })
}

/** Endings that either party of an open channel has. */
const settles = (name: string): string[] => [`settle${name} lender`, `settle${name} borrower`]
const settlesOfPrincipal = ['settlePrincipal borrower', 'settlePrincipal lender']

const CASES: [what: string, life: LoanLife, actions: string[]][] = [
  [
    'an offer waits for a channel',
    erc20Life({ contractState: '0' }),
    ['cancelLoan lender', 'createCollateralChannel borrower'],
  ],
  [
    'an offer with a channel waits for the seize voucher',
    erc20Life({ contractState: '0', secretHashA1: null, channels: [collateral()] }),
    ['cancelLoan lender', 'signSeizeVoucher borrower', ...settles('Collateral')],
  ],
  [
    'an offer with a voucher can be approved',
    erc20Life({
      contractState: '0',
      state: '0.5',
      secretHashA1: null,
      channels: [collateral({ vouchers: [SEIZE] })],
    }),
    ['approveRequest lender', 'cancelLoan lender', ...settles('Collateral')],
  ],
  [
    'a channel that was given up leaves room for another one',
    erc20Life({ contractState: '0', channels: [collateral({ settlement: settledAt(EPOCH + 5) })] }),
    [
      'cancelLoan lender',
      'createCollateralChannel borrower',
      'collectCollateral lender later',
      'collectCollateral borrower later',
    ],
  ],
  [
    'an approved loan',
    erc20Life({ contractState: '1', channels: [collateral({ vouchers: [SEIZE] })] }),
    ['withdraw borrower', 'cancelLoan lender', 'signUnlockVoucher lender', ...settles('Collateral')],
  ],
  [
    'an approved loan that expired',
    erc20Life({ contractState: '1', ...LATE, channels: [collateral({ vouchers: [SEIZE, UNLOCK] })] }),
    ['cancelLoan lender', ...settles('Collateral')],
  ],
  [
    'a withdrawn loan: the secret A1 is public',
    erc20Life({
      contractState: '2',
      secretA1: SECRET.a1,
      channels: [collateral({ vouchers: [SEIZE, UNLOCK] })],
    }),
    ['payback borrower', 'redeemSeizeVoucher lender', ...settles('Collateral')],
  ],
  [
    'a withdrawn loan that expired',
    erc20Life({
      contractState: '2',
      ...LATE,
      secretA1: SECRET.a1,
      channels: [collateral({ vouchers: [SEIZE, UNLOCK] })],
    }),
    ['redeemSeizeVoucher lender', ...settles('Collateral')],
  ],
  [
    'a seize voucher with a time lock',
    erc20Life({
      secretA1: SECRET.a1,
      channels: [collateral({ vouchers: [voucherOf('from', { timeLockMin: String(EPOCH + 50) }), UNLOCK] })],
    }),
    ['payback borrower', 'redeemSeizeVoucher lender later', ...settles('Collateral')],
  ],
  [
    'a secret too long for the channel actor',
    erc20Life({ secretA1: `0x${'aa'.repeat(257)}`, channels: [collateral({ vouchers: [SEIZE, UNLOCK] })] }),
    ['payback borrower', ...settles('Collateral')],
  ],
  [
    'a repaid loan',
    erc20Life({
      contractState: '3',
      secretA1: SECRET.a1,
      channels: [collateral({ vouchers: [SEIZE, UNLOCK] })],
    }),
    [
      ...['acceptRepayment lender', 'refundPayback borrower later', 'redeemSeizeVoucher lender'],
      ...settles('Collateral'),
    ],
  ],
  [
    'a repaid loan that the lender did not accept in time',
    erc20Life({ contractState: '3', ...LATE, secretA1: SECRET.a1, channels: [] }),
    ['refundPayback borrower'],
  ],
  [
    'a closed loan: both secrets are public',
    erc20Life({
      contractState: '5',
      secretA1: SECRET.a1,
      secretB1: SECRET.b1,
      channels: [collateral({ vouchers: [SEIZE, UNLOCK] })],
    }),
    ['redeemSeizeVoucher lender', 'redeemUnlockVoucher borrower', ...settles('Collateral')],
  ],
  [
    'an unlocked channel',
    erc20Life({
      contractState: '5',
      secretA1: SECRET.a1,
      channels: [collateral({ vouchers: [SEIZE, UNLOCK], redemptions: [redeemed(UNLOCK, SECRET.b1)] })],
    }),
    settles('Collateral'),
  ],
  [
    'a collected channel',
    erc20Life({
      contractState: '5',
      channels: [collateral({ collection: { key: 'c', cid: 'c', epoch: EPOCH, after: 0 } })],
    }),
    [],
  ],
  [
    'a cancelled loan',
    erc20Life({ contractState: '6', channels: [collateral({ vouchers: [SEIZE] })] }),
    settles('Collateral'),
  ],
  [
    'a request waits for the lender',
    filLife({ contractState: '0', secretHashB1: null }),
    ['cancelBorrowRequest borrower', 'createPrincipalChannel lender'],
  ],
  [
    'a request with a channel can be accepted',
    filLife({ contractState: '0', state: '0.5', secretHashB1: null, channels: [principal()] }),
    ['acceptOffer borrower', 'cancelBorrowRequest borrower', ...settlesOfPrincipal],
  ],
  [
    'a locked loan waits for the lender’s voucher',
    filLife({ channels: [principal()] }),
    ['signWithdrawVoucher lender', ...settlesOfPrincipal],
  ],
  [
    'the borrower redeems with its own secret',
    filLife({ channels: [principal({ vouchers: [WITHDRAW] })] }),
    ['redeemWithdrawVoucher borrower', ...settlesOfPrincipal],
  ],
  [
    'a withdrawn principal: the secret A1 is public',
    filLife({ channels: [withdrawn] }),
    ['seizeCollateral lender later', ...settlesOfPrincipal, 'createPaybackChannel borrower'],
  ],
  [
    'an expired loan',
    filLife({ ...LATE, channels: [withdrawn] }),
    ['seizeCollateral lender', ...settlesOfPrincipal, 'createPaybackChannel borrower'],
  ],
  [
    'a payback waits for its voucher',
    filLife({ channels: [withdrawn, payback()] }),
    [
      'seizeCollateral lender later',
      ...settlesOfPrincipal,
      'signPaybackVoucher borrower',
      ...settles('Payback'),
    ],
  ],
  [
    'the lender redeems with its own secret',
    filLife({ channels: [withdrawn, payback({ vouchers: [PAYBACK] })] }),
    [
      'seizeCollateral lender later',
      ...settlesOfPrincipal,
      'redeemPaybackVoucher lender',
      ...settles('Payback'),
    ],
  ],
  [
    'a redeemed payback: the secret B1 is public',
    filLife({
      channels: [withdrawn, payback({ vouchers: [PAYBACK], redemptions: [redeemed(PAYBACK, SECRET.b1)] })],
    }),
    [
      'unlockCollateral borrower',
      'seizeCollateral lender later',
      ...settlesOfPrincipal,
      ...settles('Payback'),
    ],
  ],
  [
    'a hash that no secret has',
    filLife({ secretHashA1: `0x${'00'.repeat(32)}`, contractState: '0' }),
    ['createPrincipalChannel lender'],
  ],
]

for (const [what, life, actions] of CASES) {
  void t.test(what, (t) => {
    t.same(offered(life), actions)
    t.end()
  })
}

void t.test('every action is offered in some case', (t) => {
  const found = new Set(CASES.flatMap(([, life]) => actionsOf(life).map(({ action }) => action)))
  const settled = ['collectPrincipal', 'collectPayback']
  t.same(
    ACTIONS.filter((action) => !found.has(action)),
    settled,
  )
  const ended = filLife({
    channels: [principal({ settlement: settledAt(EPOCH) }), payback({ settlement: settledAt(EPOCH) })],
  })
  t.ok(settled.every((action) => actionsOf(ended).some((one) => one.action === action)))
  t.end()
})

void t.test('an action names its actor’s address, its network, its times and their basis', (t) => {
  const [withdraw, cancel, ...filecoin] = actionsOf(
    erc20Life({ contractState: '1', channels: [collateral()] }),
  )
  const time = '2023-11-14T22:13:20.000Z'
  const evm = { network: 'evm:31337', block: 5000, time, secondsPerBlock: 12 }
  t.same(withdraw, {
    ...{ action: 'withdraw', actor: 'borrower', address: '0xb', chain: 'evm:31337', notBefore: null },
    notAfter: { time: '2023-11-14T23:13:20.000Z', block: 5300 },
    basis: evm,
  })
  t.same(cancel, {
    ...{ action: 'cancelLoan', actor: 'lender', address: '0xc', chain: 'evm:31337' },
    ...{ notBefore: null, notAfter: null, basis: evm },
  })
  t.match(filecoin, [
    { action: 'signSeizeVoucher', address: 't1from', chain: 'filecoin:testnet' },
    { action: 'signUnlockVoucher', address: 't1recipient' },
    { action: 'settleCollateral', actor: 'lender', address: 't1recipient' },
    { action: 'settleCollateral', actor: 'borrower', address: 't1from' },
  ])
  t.same(filecoin[0]?.basis, { network: 'filecoin:testnet', epoch: EPOCH, time, secondsPerEpoch: 30 })
  const { clocks } = erc20Life()
  const two = [...clocks, { network: 'filecoin:mainnet', height: 1, timeS: 1, secondsPerHeight: 30 }]
  const create = actionsOf(erc20Life({ contractState: '0', clocks: two })).at(-1)
  t.match(create, { action: 'createCollateralChannel', address: 'f1from', chain: 'filecoin', basis: null })
  t.end()
})

void t.test('a refund and a seizure begin one second after what must have passed', (t) => {
  const later = (seconds: number): string => new Date((NOW_S + seconds) * 1000).toISOString()
  const refund = actionsOf(erc20Life({ contractState: '3' })).find(({ action }) => action === 'refundPayback')
  t.equal(refund?.notBefore?.time, later(7201))
  const accept = actionsOf(erc20Life({ contractState: '3' })).find(
    ({ action }) => action === 'acceptRepayment',
  )
  t.equal(accept?.notAfter?.time, later(7200))
  const seize = actionsOf(filLife({ channels: [withdrawn] })).find(
    ({ action }) => action === 'seizeCollateral',
  )
  t.equal(seize?.notBefore?.time, later(3601))
  t.end()
})

void t.test('the problems of a loan', (t) => {
  const codes = (life: LoanLife): string[] => loanProblems(life).map(({ code }) => code)
  const named = { paymentChannelId: '0x7430', namedChannel: 'f01234' }
  t.same(codes(erc20Life({ ...named, channels: [collateral()] })), [])
  t.same(codes(erc20Life({ ...named, namedChannel: 'f02', channels: [collateral()] })), [
    'other-channel-named',
  ])
  t.same(codes(erc20Life({ ...named, namedChannel: null, channels: [collateral()] })), [
    'other-channel-named',
  ])
  t.same(codes(erc20Life(named)), ['named-channel-not-linked'])
  t.same(codes(filLife({ ...named, channels: [payback()] })), ['named-channel-not-linked'])
  t.same(codes(erc20Life({ isBeginningKnown: false })), ['beginning-unknown'])
  t.same(codes(erc20Life(LATE)), ['loan-expired'])
  t.same(codes(erc20Life({ ...LATE, contractState: '3' })), [])
  const givenUp = collateral({ settlement: settledAt(EPOCH + 9) })
  t.same(codes(erc20Life({ channels: [givenUp] })), ['channel-given-up'])
  const wrong = collateral({ vouchers: [voucherOf('from', { amount: '1' })] })
  t.match(loanProblems(erc20Life({ channels: [wrong] })), [
    { code: 'wrong-amount', channel: 't2channel', voucher: 'from-1', message: /\.$/ },
  ])
  const overruled = collateral({ vouchers: [SEIZE, UNLOCK], redemptions: [redeemed(UNLOCK, SECRET.b1)] })
  t.same(codes(erc20Life({ channels: [overruled] })), [], 'the protocol’s way to give the collateral back')
  const late = collateral({
    vouchers: [SEIZE, UNLOCK],
    redemptions: [redeemed(voucherOf('from', { nonce: '3' }), null)],
  })
  t.same(codes(erc20Life({ channels: [late] })), ['stale-nonce'], 'the unlock voucher comes too late')
  t.same(
    codes(erc20Life({ channels: [{ ...wrong, shown: false }] })),
    [],
    'a channel that fits less is no problem',
  )
  t.same(nextOf(erc20Life({ channels: [linked('collateral', channelOf(), '2')] })).step, 'repay')
  t.end()
})
