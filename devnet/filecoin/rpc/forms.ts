import { formatAddress, type NetworkLetter } from '../../../shared/filecoin/address.ts'
import { messageCid, type Message } from '../../../shared/filecoin/message.ts'
import { headerOf, type Block } from '../chain/block.ts'
import type { HeadChange } from '../chain/chain-store.ts'
import { isBls, type SignedMessage } from '../chain/signed-message.ts'
import { ancestryOf, keyOf, type Tipset } from '../chain/tipset.ts'
import { BASE_FEE, type Receipt } from '../vm/execute-message.ts'
import { type Signature } from '../../../shared/filecoin/signature.ts'

/** The JSON shapes of a node's values. Amounts are text, empty bytes are null, 64-bit numbers are bare. */

export function link(cid: string) {
  return { '/': cid }
}

export function bytesOrNull(bytes: Uint8Array): Uint8Array | null {
  return bytes.length === 0 ? null : bytes
}

export function tipsetForm(tipset: Tipset, letter: NetworkLetter) {
  return {
    Cids: keyOf(tipset).map(link),
    Blocks: tipset.blocks.map((block) => blockForm(block, tipset, letter)),
    Height: tipset.height,
  }
}

function blockForm(block: Block, tipset: Tipset, letter: NetworkLetter) {
  const header = headerOf(block, ancestryOf(tipset))
  return {
    Miner: `${letter}0${header.miner}`,
    Ticket: { VRFProof: header.ticket },
    ElectionProof: { WinCount: 1, VRFProof: null },
    BeaconEntries: null,
    WinPoStProof: null,
    Parents: tipset.parent === null ? [] : keyOf(tipset.parent).map(link),
    ParentWeight: String(header.parentWeight),
    Height: header.height,
    ParentStateRoot: link(header.parentStateRoot),
    ParentMessageReceipts: link(header.parentReceiptsRoot),
    Messages: link(header.messagesRoot),
    BLSAggregate: null,
    Timestamp: header.timestampS,
    BlockSig: null,
    ForkSignaling: 0,
    ParentBaseFee: BASE_FEE.toString(),
  }
}

export function headChangeForm({ type, tipset }: HeadChange, letter: NetworkLetter) {
  return { Type: type, Val: tipsetForm(tipset, letter) }
}

export function messageForm(message: Message, letter: NetworkLetter) {
  return {
    Version: message.version,
    To: formatAddress(message.to, letter),
    From: formatAddress(message.from, letter),
    Nonce: message.nonce,
    Value: message.value.toString(),
    GasLimit: message.gasLimit,
    GasFeeCap: message.gasFeeCap.toString(),
    GasPremium: message.gasPremium.toString(),
    Method: message.method,
    Params: bytesOrNull(message.params),
    CID: link(messageCid(message)),
  }
}

export function signatureForm({ type, data }: Signature) {
  return { Type: type, Data: data }
}

export function signedMessageForm(signed: SignedMessage, letter: NetworkLetter) {
  return {
    Message: messageForm(signed.message, letter),
    Signature: signatureForm(signed.signature),
    CID: link(signed.cid),
  }
}

export function blockMessagesForm(block: Block, letter: NetworkLetter) {
  const bls = block.messages.filter(isBls)
  const secp256k1 = block.messages.filter((signed) => !isBls(signed))
  return {
    BlsMessages: bls.map(({ message }) => messageForm(message, letter)),
    SecpkMessages: secp256k1.map((signed) => signedMessageForm(signed, letter)),
    Cids: [...bls, ...secp256k1].map(({ cid }) => link(cid)),
  }
}

export function receiptForm({ exitCode, returned, gasUsed, eventsRoot }: Receipt) {
  return {
    ExitCode: exitCode,
    Return: bytesOrNull(returned),
    GasUsed: gasUsed,
    EventsRoot: eventsRoot === null ? null : link(eventsRoot),
  }
}
