import { formatAddress, parseAddress } from '../../shared/filecoin/address.ts'
import { verifySignature } from '../../shared/filecoin/verify-signature.ts'
import { voucherKey, voucherSigningBytes, type SignedVoucher } from '../../shared/filecoin/voucher.ts'
import type { DevChain } from './chain/dev-chain.ts'

/** Vouchers of the channels that this node tracks, which are those with at least one voucher. */
export class VoucherStore {
  private readonly chain: DevChain
  /** Keyed by the channel's robust address. */
  private readonly vouchers = new Map<string, Map<string, SignedVoucher>>()

  constructor(chain: DevChain) {
    this.chain = chain
    for (const { channel, voucher } of chain.storedVouchers) this.keep(channel, voucher)
  }

  channels(): string[] {
    return [...this.vouchers.keys()].map((text) => `${this.chain.letter}${text.slice(1)}`)
  }

  /** Returns undefined for a channel that is not tracked. */
  of(channel: string): SignedVoucher[] | undefined {
    const known = this.vouchers.get(this.robust(channel) ?? '')
    return known === undefined ? undefined : [...known.values()]
  }

  /** Returns whether the voucher is new. Throws when the channel does not exist or neither party signed. */
  add(channel: string, voucher: SignedVoucher): boolean {
    const robust = this.robust(channel)
    const actor = robust === null ? undefined : this.chain.readActor(robust)
    if (robust === null || actor?.channel == null) throw new Error('channel not tracked')
    const named = this.chain.readActor(formatAddress(voucher.channelAddr, 'f'))
    if (named?.id !== actor.id) throw new Error(`voucher ChannelAddr doesn't match channel address`)
    const parties = [actor.channel.from, actor.channel.to].map(
      (id) => this.chain.readActor(`f0${id}`)?.robust,
    )
    const signed = parties.some(
      (key) =>
        key != null &&
        voucher.signature !== null &&
        verifySignature(voucherSigningBytes(voucher), voucher.signature, key),
    )
    if (!signed) throw new Error('invalid signature')
    const isNew = this.keep(robust, voucher)
    if (isNew) this.chain.storeVoucher(robust, voucher)
    return isNew
  }

  private keep(robust: string, voucher: SignedVoucher): boolean {
    const known = this.vouchers.get(robust) ?? new Map<string, SignedVoucher>()
    const isNew = !known.has(voucherKey(voucher))
    this.vouchers.set(robust, known.set(voucherKey(voucher), voucher))
    return isNew
  }

  /** Returns a channel's `f2…` address for any of its addresses. */
  private robust(channel: string): string | null {
    const address = parseAddress(channel)
    if (address === null) return null
    if (address.protocol === 2) return formatAddress(address, 'f')
    const robust = this.chain.readActor(channel)?.robust
    return robust == null ? null : formatAddress(robust, 'f')
  }
}
