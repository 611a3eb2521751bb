import { base64pad } from 'multiformats/bases/base64'
import { codeOf } from '../../devnet/filecoin/actors/actor-codes.ts'
import { collect, createChannel, redeem, settle, signVoucher } from '../../devnet/filecoin/channel-actions.ts'
import type { SignedMessage } from '../../devnet/filecoin/chain/signed-message.ts'
import { openWallet, type Wallet } from '../../devnet/filecoin/wallet.ts'
import type { FilecoinIdentity, FilecoinMessageEvent } from '../../shared/events/filecoin-event.ts'
import { formatAddress, idAddress } from '../../shared/filecoin/address.ts'
import { messageCid, type Message } from '../../shared/filecoin/message.ts'
import { SETTLE_DELAY_EPOCHS } from '../../shared/filecoin/payment-channel.ts'
import { voucherFacts } from '../../shared/filecoin/voucher-facts.ts'
import { quietMessages } from './quiet-messages.ts'
import { rootsOf, type Outcome } from './roots.ts'
import { EPOCH_S, Tipsets, type LotusShape } from './tipsets.ts'
import { createdActorAddress, encodeExecReturn } from '../../devnet/filecoin/codec.ts'
import { blockCid } from '../../shared/filecoin/block-cid.ts'
import type { MessageReceipt } from '../../shared/filecoin/receipt.ts'
import { cidText } from '../../devnet/filecoin/chain/block.ts'

/** Epochs from one new channel to the next. */
export const EPOCHS_PER_CHANNEL = 50
/** Epochs after a channel's creation at which it is redeemed, settled and collected, each in a tipset of its own. */
const LIFE = { redeem: 10, settle: 20, collect: 30 } as const
const LETTER = 't'
const FIRST_CHANNEL_ID = 10_000n
const DEPOSIT = 10n ** 18n
const REDEEMED = 4n * 10n ** 17n

/** A message that concerns a channel: the node's form of it, and the event that an index must hold. */
export interface Action {
  /** Height of the tipset that includes it as its first message. */
  height: number
  /** JSON of `ChainGetParentMessages` and `ChainGetParentReceipts`. */
  message: string
  receipt: string
  /** JSON of `ChainGetBlockMessages` of its block. */
  listed: string
  event: FilecoinMessageEvent
}

/** All events on the channels of a synthetic chain; they follow from its shape alone. */
export interface ChannelLives {
  /** Ordered like the chain. */
  actions: Action[]
  tipsets: Tipsets
  /** ID addresses of the two parties, by their keys' addresses. */
  idOf: Map<string, string>
  /** A channel's state in the node after it was settled, as JSON, by the channel's ID address. */
  stateOf: Map<string, string>
}

/** Makes and signs messages like a wallet. The expected events are written independently of any decoder. */
export async function makeChannelLives(shape: LotusShape): Promise<ChannelLives> {
  const sent: SignedMessage[] = []
  const [maker, payee] = [openParty('maker', sent), openParty('payee', sent)]
  const idOf = new Map([
    [maker.wallet.address, 't0101'],
    [payee.wallet.address, 't0102'],
  ])
  const stateOf = new Map<string, string>()
  const actions: Action[] = []
  const outcomes = new Map<number, Outcome>()
  const add = (height: number, said: Said, returned?: Uint8Array): void => {
    const signed = sent.pop()
    if (signed === undefined) throw new Error('nothing was sent')
    const { cid, message } = signed
    const place = {
      ...{
        blockNumber: height,
        blockHash: '',
        blockTimeS: shape.genesisTimeS + height * EPOCH_S,
      },
      ...{ txHash: cid, logIndex: 0, txLogIndex: 0, to: formatAddress(message.to, LETTER) },
    }
    const event = { ...place, ...said } as FilecoinMessageEvent
    const receipt = receiptOf(returned)
    outcomes.set(height, { cid, receipt })
    actions.push({
      height,
      message: messageText(signed),
      receipt: receiptText(receipt),
      listed: listedText(signed),
      event,
    })
  }
  const nameOf = (address: string): FilecoinIdentity => ({
    asWritten: address,
    id: idOf.get(address) ?? null,
    robust: [address],
  })
  const [from, recipient] = [nameOf(maker.wallet.address), nameOf(payee.wallet.address)]

  for (let number = 0; ; number += 1) {
    const made = (number + 1) * EPOCHS_PER_CHANNEL
    if (made + LIFE.collect > shape.tipsets) break
    const id = idAddress(FIRST_CHANNEL_ID + BigInt(number))
    const robust = createdActorAddress(maker.wallet.key, maker.nonce())
    const [channelId, channel] = [formatAddress(id, LETTER), formatAddress(robust, LETTER)]

    await createChannel(maker.wallet, maker.wallet.key, payee.wallet.key, DEPOSIT)
    const creation = { channel, channelId, sender: from, from, recipient, value: DEPOSIT.toString() }
    add(
      made,
      { kind: 'CreateChannel', ...creation, codeCid: codeOf('paymentchannel') },
      encodeExecReturn(id, robust),
    )

    const voucher = signVoucher(maker.wallet, { channelAddr: robust, amount: REDEEMED + BigInt(number) })
    await redeem(payee.wallet, robust, voucher)
    const redemption = { voucher: voucherFacts(voucher, LETTER), secret: null, value: '0' }
    add(made + LIFE.redeem, { kind: 'UpdateChannel', channel, sender: recipient, ...redemption })

    // Named by ID, which wallets may do: the indexer must know its robust address.
    await settle(maker.wallet, id)
    const settlingAtEpoch = made + LIFE.settle + SETTLE_DELAY_EPOCHS
    const settling = {
      settlingAtEpoch,
      settlingAtFrom: 'state',
      epochDurationS: EPOCH_S,
      value: '0',
    } as const
    add(made + LIFE.settle, { kind: 'SettleChannel', channel, sender: from, ...settling })
    stateOf.set(channelId, stateText(maker.wallet, payee.wallet, settlingAtEpoch))

    await collect(payee.wallet, robust)
    add(made + LIFE.collect, { kind: 'CollectChannel', channel, sender: recipient })
  }
  const tipsets = new Tipsets(shape, rootsOf(outcomes, quietMessages(shape.messages)))
  for (const { event, height } of actions) event.blockHash = tipsets.key(height)
  return { actions, tipsets, idOf, stateOf }
}

/** An event without its place. */
type Said = Pick<FilecoinMessageEvent, 'kind' | 'channel'> & Record<string, unknown>

function openParty(name: string, sent: SignedMessage[]): { wallet: Wallet; nonce: () => bigint } {
  let nonce = 0n
  const push = (signed: SignedMessage): Promise<string> => {
    sent.push(signed)
    nonce += 1n
    return Promise.resolve(signed.cid)
  }
  const sink = { letter: LETTER, nextNonce: () => Promise.resolve(nonce), push } as const
  return { wallet: openWallet(sink, 'secp256k1', name), nonce: () => nonce }
}

/** Returns the node's JSON of `ChainGetParentMessages`. */
export function messageText({ message, cid }: Pick<SignedMessage, 'message' | 'cid'>): string {
  return JSON.stringify({ Cid: { '/': cid }, Message: messageForm(message) })
}

/** Returns the node's JSON of `ChainGetBlockMessages` for a block with this message alone. */
function listedText({ message, signature, cid }: SignedMessage): string {
  const form = { Type: signature.type, Data: base64pad.baseEncode(signature.data) }
  const signed = { Message: messageForm(message), Signature: form, CID: { '/': cid } }
  return JSON.stringify({ BlsMessages: [], SecpkMessages: [signed], Cids: [{ '/': cid }] })
}

export function messageForm(message: Message): object {
  return {
    Version: 0,
    To: formatAddress(message.to, LETTER),
    From: formatAddress(message.from, LETTER),
    Nonce: Number(message.nonce),
    Value: message.value.toString(),
    GasLimit: Number(message.gasLimit),
    GasFeeCap: message.gasFeeCap.toString(),
    GasPremium: message.gasPremium.toString(),
    Method: Number(message.method),
    Params: base64pad.baseEncode(message.params),
    CID: { '/': messageCid(message) },
  }
}

function receiptOf(returned: Uint8Array | undefined): MessageReceipt {
  const eventsRoot = returned === undefined ? null : blockCid(returned)
  return { exitCode: 0, returned: returned ?? new Uint8Array(), gasUsed: 1, eventsRoot }
}

/** Returns the node's JSON. */
export function receiptText({ exitCode, returned, gasUsed, eventsRoot }: MessageReceipt): string {
  return JSON.stringify({
    ExitCode: Number(exitCode),
    Return: returned.length === 0 ? null : base64pad.baseEncode(returned),
    GasUsed: Number(gasUsed),
    EventsRoot: eventsRoot === null ? null : { '/': cidText(eventsRoot) },
  })
}

function stateText(maker: Wallet, payee: Wallet, settlingAtEpoch: number): string {
  return JSON.stringify({
    Balance: DEPOSIT.toString(),
    Code: { '/': codeOf('paymentchannel') },
    State: {
      ...{ From: maker.address, To: payee.address, ToSend: REDEEMED.toString() },
      ...{ SettlingAt: settlingAtEpoch, MinSettleHeight: 0, LaneStates: { '/': codeOf('account') } },
    },
  })
}
