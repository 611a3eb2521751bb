import type { LinkedChannel, LoanLife } from '../../shared/loan-life/life.ts'
import type { Channel, KnownVoucher, Redemption } from '../../shared/channels/channel.ts'
import type { ChannelRole } from '../../shared/channels/voucher-use.ts'
import { identity, voucherFacts } from './channel-events.ts'

/** Loans as the API reads them, from the facts that matter in a test. Both chains stand at `NOW_S`. */

export const NOW_S = 1_700_000_000
/** The last indexed epoch; epochs take 30 seconds. */
export const EPOCH = 10_000
const BLOCK = 5_000

export const HASH = { a1: `0x${'a1'.repeat(32)}`, b1: `0x${'b1'.repeat(32)}` }
export const SECRET = { a1: '0xaaaa', b1: '0xbbbb' }
export const FIL = 10n ** 18n

export const CLOCKS = [
  { network: 'evm:31337', height: BLOCK, timeS: NOW_S, secondsPerHeight: 12 },
  { network: 'filecoin:testnet', height: EPOCH, timeS: NOW_S, secondsPerHeight: 30 },
]

export function channelOf(given: Partial<Channel> = {}): Channel {
  return {
    robust: 't2channel',
    channelId: 't01234',
    key: 'made',
    cid: 'cid-made',
    createdEpoch: EPOCH - 100,
    createdTimeS: NOW_S - 3000,
    sender: identity('t1from'),
    from: identity('t1from'),
    recipient: identity('t1recipient'),
    value: (5n * FIL).toString(),
    deposits: (5n * FIL).toString(),
    vouchers: [],
    redemptions: [],
    settlement: null,
    collection: null,
    statements: [],
    lastEpoch: EPOCH - 100,
    lastIndex: 0,
    ...given,
  }
}

export function settledAt(settlingAtEpoch: number, after = 0): Channel['settlement'] {
  return {
    ...{ key: 'settled', cid: 'cid-settled', settlingAtEpoch, after },
    ...{ epoch: EPOCH - 10, timeS: NOW_S - 300, epochDurationS: 30 },
  }
}

/** A voucher of the whole channel, nonce 1 on lane 0. */
export function voucherOf(
  signedBy: KnownVoucher['signedBy'],
  given: Partial<Parameters<typeof voucherFacts>[0]> = {},
): KnownVoucher {
  const facts = { key: `${signedBy}-${given.nonce ?? '1'}`, nonce: '1', amount: (5n * FIL).toString() }
  return { signedBy, facts: voucherFacts({ ...facts, channelAddr: 't01234', secretHash: HASH.a1, ...given }) }
}

export function redeemed({ facts, signedBy }: KnownVoucher, secret: string | null): Redemption {
  return { key: `redeemed-${facts.key}`, cid: `cid-${facts.key}`, epoch: EPOCH - 5, facts, signedBy, secret }
}

export function linked(role: ChannelRole, channel: Channel, state = '0'): LinkedChannel {
  return { network: 'filecoin:testnet', role, shown: true, state, channel }
}

export function erc20Life(given: Partial<LoanLife> = {}): LoanLife {
  const { contractState = '2' } = given
  return {
    loanType: 'ERC20FIL',
    network: 'evm:31337',
    state: contractState,
    contractState,
    borrower: '0xb',
    lender: '0xc',
    filBorrower: 'f1from',
    filLender: 'f1recipient',
    secretHashA1: HASH.a1,
    secretHashB1: HASH.b1,
    secretA1: null,
    secretB1: null,
    loanExpirationS: BigInt(NOW_S + 3600),
    acceptExpirationS: BigInt(NOW_S + 7200),
    collateralAttoFil: 5n * FIL,
    principalAttoFil: null,
    interestRate: null,
    paymentChannelId: null,
    namedChannel: null,
    isBeginningKnown: true,
    channels: [],
    clocks: CLOCKS,
    ...given,
  }
}

export function filLife(given: Partial<LoanLife> = {}): LoanLife {
  return {
    ...erc20Life({ contractState: '1' }),
    loanType: 'FILERC20',
    acceptExpirationS: null,
    collateralAttoFil: null,
    principalAttoFil: 5n * FIL,
    interestRate: FIL / 10n,
    ...given,
    state: given.state ?? given.contractState ?? '1',
  }
}
