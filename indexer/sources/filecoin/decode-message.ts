import type {
  CollectChannelEvent,
  CreateChannelEvent,
  FilecoinIdentity,
  FilecoinMessageEvent,
  UpdateChannelEvent,
} from '../../../shared/events/filecoin-event.ts'
import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import {
  actorIdOf,
  formatAddress,
  type FilecoinAddress,
  type NetworkLetter,
} from '../../../shared/filecoin/address.ts'
import { bytesToHex } from '../../../shared/filecoin/bytes.ts'
import { DecodeError } from '../../../shared/filecoin/decode-error.ts'
import {
  decodeConstructorParams,
  decodeExecParams,
  decodeExecReturn,
  INIT_ACTOR_ID,
  type ExecParams,
} from '../../../shared/filecoin/init-actor.ts'
import {
  COLLECT,
  decodeUpdateParams,
  INIT_EXEC,
  PAYCH_UPDATE,
  SEND,
  SETTLE,
  SETTLE_DELAY_EPOCHS,
} from '../../../shared/filecoin/payment-channel.ts'
import { voucherFacts } from '../../../shared/filecoin/voucher-facts.ts'
import { storableText } from '../rpc/foreign-text.ts'
import type { ExecutedMessage } from './decode-executed.ts'

/** Facts that decoding needs besides the message. */
export interface DecodeContext {
  /** The tipset that includes the message. */
  header: BlockHeader
  letter: NetworkLetter
  epochDurationS: number
  isChannelCode: (codeCid: string) => boolean
}

/** The actor accepts at most this many bytes, so a receiver that accepted more is no channel. */
const MAX_SECRET_HASH_BYTES = 32
const MAX_SECRET_BYTES = 256
const MAX_SHOWN_PARAMS = 256

/**
 * (pure) Decodes what an executed message means if its receiver is a payment channel. Returns null when the message
 * creates another kind of actor. Only a creation proves that a channel exists; for other messages the writer of the log
 * checks the receiver. Parties are named as written and are resolved later. Never throws, whatever the parameters are.
 */
export function decodeMessage(
  executed: ExecutedMessage,
  context: DecodeContext,
): FilecoinMessageEvent | null {
  const { message } = executed
  const { header, letter, epochDurationS } = context
  const isInit = actorIdOf(message.to) === INIT_ACTOR_ID
  const base = baseOf(executed, context, isInit)
  const sender = asWritten(message.from, letter)
  const value = message.value.toString()
  try {
    if (isInit) {
      const made = message.method === INIT_EXEC ? madeChannel(executed, context) : null
      return made && { ...base, kind: 'CreateChannel', ...made, sender, value }
    }
    switch (message.method) {
      case SEND:
        return { ...base, kind: 'FundChannel', sender, value }
      case PAYCH_UPDATE:
        return { ...base, kind: 'UpdateChannel', sender, ...redemption(message.params, letter), value }
      case SETTLE: {
        // The actor's rule; the channel's own state is read later if a node has it.
        const settlingAtEpoch = header.number + SETTLE_DELAY_EPOCHS
        const settling = { settlingAtEpoch, settlingAtFrom: 'rule', epochDurationS } as const
        return { ...base, kind: 'SettleChannel', sender, ...settling, value }
      }
      case COLLECT:
        return { ...base, kind: 'CollectChannel', sender }
      default:
        return null
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const { method, params } = message
    return {
      ...base,
      kind: 'UndecodableMessage',
      method: method.toString(),
      reason: storableText(error.message, 300),
      paramsHead: `0x${bytesToHex(params.subarray(0, MAX_SHOWN_PARAMS))}`,
      paramsBytes: params.length,
    }
  }
}

/** Returns the actor code that a message to Init creates; null for other or unreadable messages. */
export function execCode({ message }: ExecutedMessage): string | null {
  if (actorIdOf(message.to) !== INIT_ACTOR_ID || message.method !== INIT_EXEC) return null
  return execParams(message.params)?.codeCid ?? null
}

function execParams(params: Uint8Array): ExecParams | null {
  try {
    return decodeExecParams(params)
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

function madeChannel(
  { message, returned }: ExecutedMessage,
  { letter, isChannelCode }: DecodeContext,
): Pick<CreateChannelEvent, 'channel' | 'channelId' | 'from' | 'recipient' | 'codeCid'> | null {
  const exec = execParams(message.params)
  if (exec === null || !isChannelCode(exec.codeCid)) return null
  const parties = decodeConstructorParams(exec.params)
  const { idAddress, robustAddress } = decodeExecReturn(returned)
  return {
    channel: formatAddress(robustAddress, letter),
    channelId: formatAddress(idAddress, letter),
    from: asWritten(parties.from, letter),
    recipient: asWritten(parties.to, letter),
    codeCid: exec.codeCid,
  }
}

/** Senders must not decide how long an event is. */
function redemption(
  params: Uint8Array,
  letter: NetworkLetter,
): Pick<UpdateChannelEvent, 'voucher' | 'secret'> {
  const { voucher, secret } = decodeUpdateParams(params)
  const hash = voucher.secretHash.length
  if (hash > MAX_SECRET_HASH_BYTES) throw new DecodeError(`voucher secret hash: ${hash} bytes`)
  if (secret.length > MAX_SECRET_BYTES) throw new DecodeError(`secret: ${secret.length} bytes`)
  return {
    voucher: voucherFacts(voucher, letter),
    secret: secret.length === 0 ? null : `0x${bytesToHex(secret)}`,
  }
}

function baseOf(
  { cid, index, message }: ExecutedMessage,
  { header, letter }: DecodeContext,
  isInit: boolean,
): Omit<CollectChannelEvent, 'kind' | 'sender'> {
  const to = formatAddress(message.to, letter)
  return {
    blockNumber: header.number,
    blockHash: header.hash,
    blockTimeS: header.timeS,
    txHash: cid,
    logIndex: index,
    txLogIndex: 0,
    to,
    channel: isInit || message.to.protocol === 0 ? null : to,
  }
}

/** Returns the facts about an owner that the address itself contains. */
export function asWritten(address: FilecoinAddress, letter: NetworkLetter): FilecoinIdentity {
  const text = formatAddress(address, letter)
  return address.protocol === 0
    ? { asWritten: text, id: text, robust: [] }
    : { asWritten: text, id: null, robust: [text] }
}
