import t from 'tap'
import { checkVouchers } from '../../../../shared/loan-life/voucher-check.ts'
import { problemsOf, type VoucherProblem } from '../../../../api/loan-life/voucher-problems.ts'
import type { LoanLife } from '../../../../shared/loan-life/life.ts'
import type { Channel, KnownVoucher } from '../../../../shared/channels/channel.ts'
import type { ChannelRole } from '../../../../shared/channels/voucher-use.ts'
import {
  channelOf,
  CLOCKS,
  EPOCH,
  erc20Life,
  FIL,
  filLife,
  HASH,
  linked,
  NOW_S,
  redeemed,
  SECRET,
  settledAt,
  voucherOf,
} from '../../../helpers/loan-lives.ts'

interface Case {
  what: string
  voucher: KnownVoucher
  role?: ChannelRole
  channel?: Partial<Channel>
  life?: Partial<LoanLife>
  problems: VoucherProblem[]
}

const seize = (given: Parameters<typeof voucherOf>[1] = {}) => voucherOf('from', given)
const unlock = (given: Parameters<typeof voucherOf>[1] = {}) =>
  voucherOf('recipient', { nonce: '2', amount: '0', secretHash: HASH.b1, ...given })
const pay = (given: Parameters<typeof voucherOf>[1] = {}) => voucherOf('from', given)
/** The owed principal and interest. */
const owed = ((5n * FIL * 11n) / 10n).toString()

const CASES: Case[] = [
  { what: 'a seize voucher as the terms ask', voucher: seize(), problems: [] },
  { what: 'an unlock voucher as the terms ask', voucher: unlock(), problems: [] },
  { what: 'a withdraw voucher as the terms ask', voucher: pay(), role: 'principal', problems: [] },
  {
    what: 'a payback of principal and interest',
    voucher: pay({ amount: owed, secretHash: HASH.b1 }),
    role: 'payback',
    channel: { deposits: owed },
    problems: [],
  },
  {
    what: 'a payback without the interest',
    voucher: pay({ secretHash: HASH.b1 }),
    role: 'payback',
    problems: ['wrong-amount'],
  },
  {
    what: 'a Unix time as timeLockMax (the dapp writes it)',
    voucher: seize({ timeLockMax: String(NOW_S) }),
    problems: ['seconds-for-epochs'],
  },
  {
    what: 'a Unix time as timeLockMin',
    voucher: seize({ timeLockMin: String(NOW_S) }),
    problems: ['seconds-for-epochs'],
  },
  {
    what: 'a Unix time as minSettleHeight',
    voucher: seize({ minSettleHeight: String(NOW_S) }),
    problems: ['seconds-for-epochs'],
  },
  {
    what: 'the largest number, which means never',
    voucher: seize({ timeLockMax: '9223372036854775807' }),
    problems: [],
  },
  {
    what: 'crossed time locks',
    voucher: seize({ timeLockMin: String(EPOCH + 900), timeLockMax: String(EPOCH + 800) }),
    problems: ['time-locks-crossed'],
  },
  {
    what: 'a time lock that has ended',
    voucher: seize({ timeLockMax: String(EPOCH) }),
    problems: ['expired', 'expires-too-early'],
  },
  {
    what: 'a seize voucher that ends with the loan, when it would be needed',
    voucher: seize({ timeLockMax: String(EPOCH + 120) }),
    problems: ['expires-too-early'],
  },
  {
    what: 'a seize voucher that lasts an epoch longer',
    voucher: seize({ timeLockMax: String(EPOCH + 121) }),
    problems: [],
  },
  {
    what: 'an unlock voucher that ends before the lender must accept',
    voucher: unlock({ timeLockMax: String(EPOCH + 240) }),
    problems: ['expires-too-early'],
  },
  {
    what: 'a withdraw voucher that begins after the loan expires',
    voucher: pay({ timeLockMin: String(EPOCH + 121) }),
    role: 'principal',
    problems: ['too-late-for-loan'],
  },
  {
    what: 'a withdraw voucher that begins when the loan expires',
    voucher: pay({ timeLockMin: String(EPOCH + 120) }),
    role: 'principal',
    problems: [],
  },
  {
    what: 'a payback voucher of an expired loan',
    voucher: pay({ amount: owed, secretHash: HASH.b1 }),
    role: 'payback',
    channel: { deposits: owed },
    life: { loanExpirationS: BigInt(NOW_S) },
    problems: ['too-late-for-loan'],
  },
  {
    what: 'a channel that settles before the time lock',
    voucher: seize({ timeLockMin: String(EPOCH + 50) }),
    channel: { settlement: settledAt(EPOCH + 50) },
    problems: ['too-late-for-channel'],
  },
  {
    what: 'a channel that settles with the next epoch',
    voucher: seize(),
    channel: { settlement: settledAt(EPOCH + 1) },
    problems: ['channel-settled'],
  },
  {
    what: 'a channel that settles one epoch later',
    voucher: seize(),
    channel: { settlement: settledAt(EPOCH + 2) },
    problems: [],
  },
  {
    what: 'a channel that is gone',
    voucher: seize(),
    channel: { settlement: settledAt(EPOCH - 1), collection: { key: 'c', cid: 'c', epoch: EPOCH, after: 0 } },
    problems: ['channel-settled'],
  },
  {
    what: 'a nonce that the unlock voucher overruled',
    voucher: seize(),
    channel: { redemptions: [redeemed(unlock(), SECRET.b1)] },
    problems: ['stale-nonce'],
  },
  {
    what: 'the nonce of another voucher that was redeemed',
    voucher: seize(),
    channel: { redemptions: [redeemed(seize({ key: 'another' }), SECRET.a1)] },
    problems: ['stale-nonce'],
  },
  {
    what: 'an amount above the channel’s funds',
    voucher: seize(),
    channel: { deposits: (4n * FIL).toString() },
    problems: ['exceeds-funds'],
  },
  {
    what: 'another amount than the collateral',
    voucher: seize({ amount: FIL.toString() }),
    problems: ['wrong-amount'],
  },
  { what: 'an unlock voucher that pays', voucher: unlock({ amount: '1' }), problems: ['wrong-amount'] },
  {
    what: 'a negative amount',
    voucher: seize({ amount: '-1' }),
    problems: ['negative-amount', 'wrong-amount'],
  },
  {
    what: 'an unlock voucher on another lane than the seize voucher',
    voucher: unlock({ lane: '1' }),
    channel: { vouchers: [seize(), unlock({ lane: '1' })] },
    problems: ['does-not-unlock'],
  },
  {
    what: 'an unlock voucher below the seize voucher',
    voucher: unlock(),
    channel: { vouchers: [seize({ nonce: '2' }), unlock()] },
    problems: ['does-not-unlock'],
  },
  {
    what: 'an unlock voucher above the seize voucher',
    voucher: unlock(),
    channel: { vouchers: [seize(), unlock()] },
    problems: [],
  },
  { what: 'no secret', voucher: seize({ secretHash: null }), problems: ['no-secret-hash'] },
  { what: 'the other secret', voucher: seize({ secretHash: HASH.b1 }), problems: ['other-secret-hash'] },
  {
    what: 'a hash of zeros',
    voucher: seize({ secretHash: `0x${'00'.repeat(32)}` }),
    problems: ['other-secret-hash', 'impossible-secret-hash'],
  },
  {
    what: 'a hash of 31 bytes',
    voucher: seize({ secretHash: `0x${'a1'.repeat(31)}` }),
    problems: ['other-secret-hash', 'impossible-secret-hash'],
  },
  { what: 'another channel', voucher: seize({ channelAddr: 't09999' }), problems: ['other-channel'] },
  { what: 'an extra call', voucher: seize({ hasExtra: true }), problems: ['calls-another-actor'] },
  {
    what: 'a lane beyond the highest',
    voucher: seize({ lane: '9223372036854775808' }),
    problems: ['lane-too-high'],
  },
  {
    what: 'a lower amount on a lane that owes more elsewhere',
    voucher: seize({ amount: '0', nonce: '3' }),
    channel: { redemptions: [redeemed(seize({ lane: '1', nonce: '1' }), SECRET.a1)] },
    problems: ['wrong-amount'],
  },
  {
    what: 'a redeemed voucher has no prospects to judge',
    voucher: seize({ timeLockMax: String(EPOCH - 5) }),
    channel: { redemptions: [redeemed(seize({ timeLockMax: String(EPOCH - 5) }), SECRET.a1)] },
    problems: [],
  },
  {
    what: 'terms that are not known',
    voucher: seize({ amount: '1' }),
    life: { collateralAttoFil: null, loanExpirationS: null, acceptExpirationS: null, secretHashA1: null },
    problems: [],
  },
]

for (const { what, voucher, role = 'collateral', channel, life, problems } of CASES) {
  void t.test(what, (t) => {
    const one = linked(role, channelOf({ vouchers: [voucher], ...channel }))
    const loan = (role === 'collateral' ? erc20Life : filLife)({ channels: [one], ...life })
    const check = checkVouchers(one).find(({ facts }) => facts.key === voucher.facts.key)
    t.ok(check)
    if (check) t.same(problemsOf(check, one, loan, CLOCKS[1]), problems)
    t.end()
  })
}

void t.test('a voucher redeemed in the name of nobody known is shown, and said to be so', (t) => {
  const { facts } = seize()
  const one = linked(
    'collateral',
    channelOf({ redemptions: [{ key: 'r', cid: 'c', epoch: EPOCH, facts, signedBy: null, secret: null }] }),
  )
  const [check, ...others] = checkVouchers(one)
  t.same(others, [])
  t.ok(check && problemsOf(check, one, erc20Life({ channels: [one] }), CLOCKS[1]).includes('unknown-signer'))
  t.end()
})

void t.test('without a clock nothing is judged by time', (t) => {
  const one = linked('collateral', channelOf({ vouchers: [seize({ timeLockMax: '5' })] }))
  const [check] = checkVouchers(one)
  t.same(check && problemsOf(check, one, erc20Life({ channels: [one], clocks: [] }), undefined), [])
  t.end()
})
