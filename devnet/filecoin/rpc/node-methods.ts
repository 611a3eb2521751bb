import { formatAddress } from '../../../shared/filecoin/address.ts'
import { messageOf } from '../../../shared/errors.ts'
import type { Message } from '../../../shared/filecoin/message.ts'
import { signedMessage, type SignedMessage } from '../chain/signed-message.ts'
import { link, signedMessageForm } from './forms.ts'
import { read, write, type Methods } from './method.ts'
import * as take from './params.ts'
import { failed, unreadable } from './rpc-error.ts'
import { readSignatureForm, readVoucherForm, voucherForm } from './voucher-form.ts'

/** Methods for the node's own data: its version, its message pool, its vouchers. */
export const nodeMethods: Methods = {
  Version: read(0, ({ chain }) => ({
    Version: '1.36.2+devnet',
    APIVersion: 131_840,
    BlockDelay: chain.settings.epochDurationS,
    Agent: 'devnet',
  })),
  MpoolPending: read(1, ({ chain }) =>
    chain.pool.all().map((signed) => signedMessageForm(signed, chain.letter)),
  ),
  MpoolGetNonce: read(1, ({ chain }, [address]) => chain.nextNonce(take.address(address))),
  MpoolPush: write(1, async ({ chain }, [signed]) => {
    const message = readSignedMessage(signed)
    return link(await chain.push(message).catch(refuse))
  }),
  PaychList: read(0, ({ vouchers }) => vouchers.channels()),
  PaychVoucherList: write(1, ({ chain, vouchers }, [channel]) => {
    const known = vouchers.of(formatAddress(take.address(channel), chain.letter))
    if (known === undefined) throw failed('channel not tracked')
    return known.map((voucher) => voucherForm(voucher, chain.letter))
  }),
  /**
   * Takes channel, voucher, proof and least increase; the last two are ignored. Returns the voucher's amount, or 0 if
   * the voucher is known.
   */
  PaychVoucherAdd: write(4, ({ chain, vouchers }, [channel, voucher]) => {
    const added = readVoucherForm(voucher)
    try {
      const isNew = vouchers.add(formatAddress(take.address(channel), chain.letter), added)
      return isNew ? added.amount.toString() : '0'
    } catch (error) {
      return refuse(error)
    }
  }),
}

function refuse(error: unknown): never {
  throw failed(messageOf(error))
}

function readSignedMessage(value: unknown): SignedMessage {
  const form = take.record(value)
  const signature = readSignatureForm(form['Signature'])
  if (signature === null) throw unreadable('unmarshaling params: no signature')
  return signedMessage(readMessage(form['Message']), signature)
}

function readMessage(value: unknown): Message {
  const form = take.record(value)
  return {
    version: take.integer(form['Version']),
    to: take.address(form['To']),
    from: take.address(form['From']),
    nonce: take.uint64(form['Nonce']),
    value: take.bigInteger(form['Value']),
    gasLimit: take.uint64(form['GasLimit']),
    gasFeeCap: take.bigInteger(form['GasFeeCap']),
    gasPremium: take.bigInteger(form['GasPremium']),
    method: take.uint64(form['Method']),
    params: take.bytes(form['Params']),
  }
}
