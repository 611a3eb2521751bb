import { encodeAddress } from '../../shared/filecoin/address.ts'
import { encodeBigInt } from '../../shared/filecoin/big-integer.ts'
import { encodeCbor } from '../../shared/filecoin/cbor.ts'
import { INIT_EXEC } from '../../shared/filecoin/payment-channel.ts'
import { codeOf } from './actors/actor-codes.ts'
import { INIT_ACTOR, toAddress, type AddressLike } from './channel-actions.ts'
import type { Wallet } from './wallet.ts'
import { encodeExecParams } from './codec.ts'

const PROPOSE = 2n
const APPROVE = 3n
const CANCEL = 4n

/**
 * Creates a wallet of several signers and returns the message's CID. `createdChannel` returns its addresses as well.
 */
export function createMultisig(
  wallet: Wallet,
  signers: readonly AddressLike[],
  approvals: number,
  amount: bigint,
): Promise<string> {
  const addresses = signers.map((signer) => encodeAddress(toAddress(signer)))
  const params = encodeExecParams(codeOf('multisig'), encodeCbor([addresses, approvals, 0, 0]))
  return wallet.send({ to: INIT_ACTOR, method: INIT_EXEC, value: amount, params })
}

/**
 * Proposes a call of the multisig. If one approval suffices, the multisig calls at once, by a message that appears in
 * no block.
 */
export function propose(
  wallet: Wallet,
  multisig: AddressLike,
  call: { to: AddressLike; value?: bigint; method: bigint; params?: Uint8Array },
): Promise<string> {
  const { to, value = 0n, method, params = new Uint8Array() } = call
  return wallet.send({
    to: toAddress(multisig),
    method: PROPOSE,
    params: encodeCbor([encodeAddress(toAddress(to)), encodeBigInt(value), method, params]),
  })
}

/** `transaction` is the number that Propose returned. */
export function approve(wallet: Wallet, multisig: AddressLike, transaction: number): Promise<string> {
  return wallet.send({ to: toAddress(multisig), method: APPROVE, params: numbered(transaction) })
}

export function cancel(wallet: Wallet, multisig: AddressLike, transaction: number): Promise<string> {
  return wallet.send({ to: toAddress(multisig), method: CANCEL, params: numbered(transaction) })
}

function numbered(transaction: number): Uint8Array {
  return encodeCbor([transaction, new Uint8Array()])
}
