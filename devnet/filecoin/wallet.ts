import { formatAddress, type FilecoinAddress, type NetworkLetter } from '../../shared/filecoin/address.ts'
import { type Message } from '../../shared/filecoin/message.ts'
import { signedMessage, type SignedMessage } from './chain/signed-message.ts'
import { createKey, type KeyKind } from './keys.ts'
import { encodeUtf8 } from './vm/utf8.ts'
import { messageSigningBytes } from './codec.ts'
import { type Signature } from '../../shared/filecoin/signature.ts'

/** The part of a node that a wallet needs, in this process or behind JSON-RPC. */
export interface MessageSink {
  letter: NetworkLetter
  /** Returns the first nonce that no message of this key has, pending ones included. */
  nextNonce(address: FilecoinAddress): Promise<bigint>
  /** Returns the message's CID. */
  push(signed: SignedMessage): Promise<string>
}

export interface Sending {
  to: FilecoinAddress
  method: bigint
  /** attoFIL; 0 when missing. */
  value?: bigint
  params?: Uint8Array
  /** The sender as the message names it, for example its ID; the key's address when missing. */
  from?: FilecoinAddress
  /** The next free one when missing. */
  nonce?: bigint
  gasLimit?: bigint
  /** attoFIL per unit of gas; a quarter more replaces a pending message. */
  gasPremium?: bigint
}

export interface Wallet {
  kind: KeyKind
  /** The key's address as text with the network's letter. */
  address: string
  key: FilecoinAddress
  /** Signs and pushes a message and returns its CID. Concurrent calls get nonces in call order. */
  send(sending: Sending): Promise<string>
  sign(bytes: Uint8Array): Signature
}

const GAS_LIMIT = 10_000_000n
const GAS_FEE_CAP = 1_000n
const GAS_PREMIUM = 100n

/** Returns the same wallet for the same text. */
export function openWallet(node: MessageSink, kind: KeyKind, seedText: string): Wallet {
  const key = createKey(kind, encodeUtf8(seedText))
  let last: Promise<unknown> = Promise.resolve()
  async function sendNow(sending: Sending): Promise<string> {
    const nonce = sending.nonce ?? (await node.nextNonce(key.address))
    const message = messageFrom(key.address, nonce, sending)
    return node.push(signedMessage(message, key.sign(messageSigningBytes(message))))
  }
  return {
    kind,
    address: formatAddress(key.address, node.letter),
    key: key.address,
    sign: (bytes) => key.sign(bytes),
    send(sending) {
      // Sends run one at a time: the next nonce is known only once the previous message has its own.
      const sent = last.then(() => sendNow(sending))
      last = sent.catch(() => undefined)
      return sent
    },
  }
}

function messageFrom(key: FilecoinAddress, nonce: bigint, sending: Sending): Message {
  return {
    version: 0,
    to: sending.to,
    from: sending.from ?? key,
    nonce,
    value: sending.value ?? 0n,
    gasLimit: sending.gasLimit ?? GAS_LIMIT,
    gasFeeCap: GAS_FEE_CAP,
    gasPremium: sending.gasPremium ?? GAS_PREMIUM,
    method: sending.method,
    params: sending.params ?? new Uint8Array(),
  }
}
