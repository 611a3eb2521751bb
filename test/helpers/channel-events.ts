import type {
  CollectChannelEvent,
  CreateChannelEvent,
  FilecoinIdentity,
  FundChannelEvent,
  SettleChannelEvent,
  SignedStatementEvent,
  SignedVoucherEvent,
  UpdateChannelEvent,
  VoucherFacts,
} from '../../shared/events/filecoin-event.ts'

/** Events of payment channels in a source's form, from the facts that matter in a test. */

let serial = 0
const EPOCH_S = 30
const GENESIS_S = 1_600_000_000

interface At {
  height: number
  /** Distinguishes messages; generated if missing. */
  cid?: string
  index?: number
}

function place({ height, cid, index = 0 }: At) {
  serial += 1
  return {
    blockNumber: height,
    blockHash: `tipset-${height}`,
    blockTimeS: GENESIS_S + height * EPOCH_S,
    txHash: cid ?? `cid-${serial}`,
    logIndex: index,
    txLogIndex: 0,
  }
}

/** Returns a party with one robust name and, usually, an ID. */
export function identity(robust: string, id: string | null = null): FilecoinIdentity {
  return { asWritten: robust, id, robust: [robust] }
}

export function makeChannel(
  at: At & Partial<Omit<CreateChannelEvent, 'kind'>> & { channel: string; channelId: string },
): CreateChannelEvent {
  const { height: _height, cid: _cid, index: _index, ...given } = at
  const from = given.from ?? identity('t1from')
  return {
    ...place(at),
    kind: 'CreateChannel',
    to: 't01',
    sender: from,
    from,
    recipient: identity('t1recipient'),
    value: '1000000000000000000',
    codeCid: 'bafkqafdgnfwc6nrpobqxs3lfnz2gg2dbnzxgk3a',
    ...given,
  }
}

export function fundChannel(
  at: At & { to: string; value?: string; sender?: FilecoinIdentity },
): FundChannelEvent {
  const { to, value = '1', sender = identity('t1any') } = at
  return { ...place(at), kind: 'FundChannel', to, channel: to.startsWith('t2') ? to : null, sender, value }
}

export function settleChannel(
  at: At & { to: string; sender?: FilecoinIdentity; settlingAtEpoch?: number },
): SettleChannelEvent {
  const { to, sender = identity('t1from'), settlingAtEpoch = at.height + 1440 } = at
  return {
    ...place(at),
    kind: 'SettleChannel',
    to,
    channel: to.startsWith('t2') ? to : null,
    sender,
    settlingAtEpoch,
    settlingAtFrom: 'state',
    epochDurationS: EPOCH_S,
    value: '0',
  }
}

export function collectChannel(at: At & { to: string; sender?: FilecoinIdentity }): CollectChannelEvent {
  const { to, sender = identity('t1from') } = at
  return { ...place(at), kind: 'CollectChannel', to, channel: to.startsWith('t2') ? to : null, sender }
}

export function voucherFacts(given: Partial<VoucherFacts> & { key: string }): VoucherFacts {
  return {
    text: `text-of-${given.key}`,
    channelAddr: 't2channel',
    timeLockMin: '0',
    timeLockMax: '0',
    secretHash: null,
    lane: '0',
    nonce: '0',
    amount: '0',
    minSettleHeight: '0',
    hasExtra: false,
    merges: 0,
    ...given,
  }
}

export function updateChannel(
  at: At & { to: string; voucher: VoucherFacts; sender: FilecoinIdentity; secret?: string | null },
): UpdateChannelEvent {
  const { to, voucher, sender, secret = null } = at
  return {
    ...place(at),
    kind: 'UpdateChannel',
    to,
    channel: to.startsWith('t2') ? to : null,
    sender,
    voucher,
    secret,
    value: '0',
  }
}

const NOWHERE = { blockNumber: 0, blockHash: '', blockTimeS: 0, logIndex: 0, txLogIndex: 0 }

export function signedVoucher(
  channel: string,
  signer: string,
  voucher: VoucherFacts,
  way: SignedVoucherEvent['way'] = 'queue',
): SignedVoucherEvent {
  return {
    ...NOWHERE,
    kind: 'SignedVoucher',
    txHash: voucher.text ?? voucher.key,
    channel,
    signer,
    way,
    voucher,
  }
}

export function signedStatement(
  given: Pick<SignedStatementEvent, 'channel' | 'signer' | 'contractLoanId' | 'contract'> &
    Partial<SignedStatementEvent>,
): SignedStatementEvent {
  return {
    ...NOWHERE,
    kind: 'SignedStatement',
    txHash: `statement-of-${given.channel}`,
    way: 'queue',
    networkId: null,
    secretHash: null,
    message: '{}',
    ...given,
  }
}
