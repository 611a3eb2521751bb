import {
  formatAddress,
  idAddress,
  parseAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../shared/filecoin/address.ts'
import { decodeExecReturn } from '../../shared/filecoin/init-actor.ts'
import { COLLECT, INIT_EXEC, PAYCH_UPDATE, SEND, SETTLE } from '../../shared/filecoin/payment-channel.ts'
import { voucherSigningBytes, type SignedVoucher } from '../../shared/filecoin/voucher.ts'
import { codeOf } from './actors/actor-codes.ts'
import type { Execution } from './chain/waiters.ts'
import type { Sending, Wallet } from './wallet.ts'
import { encodeConstructorParams, encodeExecParams, encodeUpdateParams } from './codec.ts'

/** An address as text (either letter, any form) or decoded. */
export type AddressLike = string | FilecoinAddress
/** Optional settings beyond the action itself: the sender's form, nonce, gas. */
export type Extras = Partial<Sending>

export const INIT_ACTOR = idAddress(1n)

export function toAddress(address: AddressLike): FilecoinAddress {
  if (typeof address !== 'string') return address
  const parsed = parseAddress(address)
  if (parsed === null) throw new Error(`${address} is no address`)
  return parsed
}

/** Opens a channel between two parties, neither of which need be the wallet. Returns the message's CID. */
export function createChannel(
  wallet: Wallet,
  from: AddressLike,
  to: AddressLike,
  amount: bigint,
  extras: Extras = {},
): Promise<string> {
  const constructorParams = encodeConstructorParams(toAddress(from), toAddress(to))
  const params = encodeExecParams(codeOf('paymentchannel'), constructorParams)
  return wallet.send({ to: INIT_ACTOR, method: INIT_EXEC, value: amount, params, ...extras })
}

/** Fields of a voucher; missing ones are empty. Times are epochs, amounts attoFIL. */
export type VoucherFields = Partial<Omit<SignedVoucher, 'channelAddr' | 'signature'>> & {
  channelAddr: AddressLike
  amount: bigint
}

export function signVoucher(wallet: Wallet, fields: VoucherFields): SignedVoucher {
  const unsigned: SignedVoucher = {
    timeLockMin: 0n,
    timeLockMax: 0n,
    secretHash: new Uint8Array(),
    extra: null,
    lane: 0n,
    nonce: 1n,
    minSettleHeight: 0n,
    merges: [],
    ...fields,
    channelAddr: toAddress(fields.channelAddr),
    signature: null,
  }
  return { ...unsigned, signature: wallet.sign(voucherSigningBytes(unsigned)) }
}

/** Redeems a voucher; `wallet` must be the party that did not sign it. */
export function redeem(
  wallet: Wallet,
  channel: AddressLike,
  voucher: SignedVoucher,
  secret: Uint8Array = new Uint8Array(),
  extras: Extras = {},
): Promise<string> {
  const params = encodeUpdateParams({ voucher, secret })
  return wallet.send({ to: toAddress(channel), method: PAYCH_UPDATE, params, ...extras })
}

export function settle(wallet: Wallet, channel: AddressLike, extras: Extras = {}): Promise<string> {
  return wallet.send({ to: toAddress(channel), method: SETTLE, ...extras })
}

export function collect(wallet: Wallet, channel: AddressLike, extras: Extras = {}): Promise<string> {
  return wallet.send({ to: toAddress(channel), method: COLLECT, ...extras })
}

export function fundChannel(
  wallet: Wallet,
  channel: AddressLike,
  amount: bigint,
  extras: Extras = {},
): Promise<string> {
  return wallet.send({ to: toAddress(channel), method: SEND, value: amount, ...extras })
}

/**
 * Returns the addresses of the channel that a create message made: its robust address and its ID in this branch. Throws
 * if the message failed.
 */
export function createdChannel(
  { receipt }: Pick<Execution, 'receipt'>,
  letter: NetworkLetter,
): { robust: string; id: string } {
  if (receipt.exitCode !== 0) throw new Error(`the create ended with exit code ${receipt.exitCode}`)
  const { idAddress: id, robustAddress: robust } = decodeExecReturn(receipt.returned)
  return { robust: formatAddress(robust, letter), id: formatAddress(id, letter) }
}
