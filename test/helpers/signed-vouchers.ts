import { utf8ToBytes } from '@noble/hashes/utils.js'
import { createKey, type Key, type KeyKind } from '../../devnet/filecoin/keys.ts'
import { formatAddress, idAddress } from '../../shared/filecoin/address.ts'
import { bytesToHex } from '../../shared/filecoin/bytes.ts'
import { voucherSigningBytes, voucherText, type SignedVoucher } from '../../shared/filecoin/voucher.ts'
import type { Channel, Party } from '../../shared/channels/channel.evolve.ts'
import { voucherFacts } from './channel-events.ts'
import type { FilecoinIdentity } from '../../shared/events/filecoin-event.ts'
import { actorAddress } from '../../devnet/filecoin/codec.ts'

/** Returns a real key for a name, always the same. */

export function keyOf(name: string, kind: KeyKind = 'secp256k1'): Key {
  return createKey(kind, utf8ToBytes(name))
}

export function textOf(key: Key): string {
  return formatAddress(key.address, 't')
}

export function identityOf(key: Key, id: string | null = null): FilecoinIdentity {
  return { asWritten: textOf(key), id, robust: [textOf(key)] }
}

export const CHANNEL = actorAddress(utf8ToBytes('the channel'))
export const CHANNEL_ID = 1234n
export const BORROWER = keyOf('borrower')
export const LENDER = keyOf('lender', 'bls')

/** The moments of a channel that decide about vouchers. */
interface Life {
  settlingAtEpoch?: number | null
  collectedEpoch?: number | null
  redeemed?: { lane: bigint; nonce: bigint; key: string; signedBy: Party | null }[]
}

/** A channel from the borrower to the lender, created at 1000 with 500. */
export function knownChannel(given: Partial<Channel> & Life = {}): Channel {
  const { settlingAtEpoch = null, collectedEpoch = null, redeemed = [], ...rest } = given
  const message = { key: 'key', cid: 'cid', epoch: 1000, after: 0 }
  return {
    robust: formatAddress(CHANNEL, 't'),
    channelId: formatAddress(idAddress(CHANNEL_ID), 't'),
    ...{ key: 'key', cid: 'cid', createdEpoch: 1000, createdTimeS: 0, lastEpoch: 1000, lastIndex: 0 },
    sender: identityOf(BORROWER),
    from: identityOf(BORROWER),
    recipient: identityOf(LENDER),
    ...{ value: '500', deposits: '500', vouchers: [], statements: [] },
    settlement:
      settlingAtEpoch === null ? null : { ...message, settlingAtEpoch, timeS: 0, epochDurationS: 30 },
    collection: collectedEpoch === null ? null : { ...message, epoch: collectedEpoch },
    redemptions: redeemed.map(({ lane, nonce, key, signedBy }) => ({
      ...{ key: 'key', cid: 'cid', epoch: 1000, signedBy, secret: null },
      facts: voucherFacts({ key, lane: lane.toString(), nonce: nonce.toString() }),
    })),
    ...rest,
  }
}

export function unsignedVoucher(given: Partial<SignedVoucher> = {}): SignedVoucher {
  return {
    channelAddr: CHANNEL,
    timeLockMin: 0n,
    timeLockMax: 0n,
    secretHash: new Uint8Array(32).fill(7),
    extra: null,
    lane: 0n,
    nonce: 1n,
    amount: 500n,
    minSettleHeight: 0n,
    merges: [],
    signature: null,
    ...given,
  }
}

export function sign(voucher: SignedVoucher, key: Key = BORROWER): SignedVoucher {
  return { ...voucher, signature: key.sign(voucherSigningBytes(voucher)) }
}

/** Returns a voucher's text, signed by the borrower by default. */
export function signedText(given: Partial<SignedVoucher> = {}, key: Key = BORROWER): string {
  return voucherText(sign(unsignedVoucher(given), key))
}

/** Signs a statement like the dapp after it created a collateral channel. */
export function signStatement(
  message: Record<string, unknown> | string,
  key: Key = BORROWER,
): { message: string; signature: string } {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  return { message: text, signature: bytesToHex(key.sign(utf8ToBytes(text)).data) }
}

export const STATEMENT = {
  loanId: 7,
  contractLoanId: '42',
  erc20LoansContract: '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9',
  CID: { '/': 'bafy2bzaceau5l3tmnwmnwijtv5fk674da5gguthrdkioqohkp2auxozombhq6' },
  paymentChannelId: formatAddress(idAddress(CHANNEL_ID), 't'),
  paymentChannelAddress: formatAddress(CHANNEL, 't'),
  ethBorrower: '0xa513E6E4b8f2a923D98304ec87F64353C4D5C853',
  filLender: textOf(LENDER),
  filBorrower: textOf(BORROWER),
  secretHashA1: `0x${'AB'.repeat(32)}`,
  lockAmount: '0.5',
  network: 'testnet',
  erc20LoansNetworkId: '31337',
}
