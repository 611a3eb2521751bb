import { formatAddress, type FilecoinAddress, type NetworkLetter } from '../../shared/filecoin/address.ts'
import { messageSigningBytes, type Message, type Signature } from '../../shared/filecoin/message.ts'
import { signedMessage, type SignedMessage } from './chain/signed-message.ts'
import { createKey, type KeyKind } from './keys.ts'
import { encodeUtf8 } from './vm/utf8.ts'

/** A node as a wallet sees it: this process's own, or one behind JSON-RPC. */
export interface MessageSink {
  letter: NetworkLetter
  /** The first nonce that no message of this key has, waiting ones included. */
  nextNonce(address: FilecoinAddress): Promise<bigint>
  /** The message's CID. */
  push(signed: SignedMessage): Promise<string>
}

export interface Sending {
  to: FilecoinAddress
  method: bigint
  /** attoFIL; 0 when missing. */
  value?: bigint
  params?: Uint8Array
  /** As the message should name the sender, its ID for example; the key's address when missing. */
  from?: FilecoinAddress
  /** The next free one when missing. */
  nonce?: bigint
  gasLimit?: bigint
  /** attoFIL per unit; a quarter more than a waiting message's replaces it. */
  gasPremium?: bigint
}

export interface Wallet {
  kind: KeyKind
  /** The key's address as text with the network's letter. */
  address: string
  key: FilecoinAddress
  /** Signs and pushes; the message's CID. Several at once get nonces in the order of the calls. */
  send(sending: Sending): Promise<string>
  sign(bytes: Uint8Array): Signature
}

const GAS_LIMIT = 10_000_000n
const GAS_FEE_CAP = 1_000n
const GAS_PREMIUM = 100n

/** Always the same wallet for a text. */
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
      // One at a time: the next nonce is known only once the message before has its own.
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
