import { parseAddress, type FilecoinAddress } from '../../../shared/filecoin/address.ts'
import { messageCid, type Message } from '../../../shared/filecoin/message.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { amount, bytesOf, cidOf, integer, itemsOf, record, textOf } from './decode-json.ts'

/** (pure) A message that ran with exit code 0, and its return value. */
export interface ExecutedMessage {
  /** The CID that nodes and explorers show: the signed message's CID unless the signature is BLS. */
  cid: string
  /** The message's index in the tipset's execution order. */
  index: number
  message: Message
  returned: Uint8Array
}

const INIT_ACTOR = /^[ft]01$/
/** Receivers that could be a payment channel: IDs from 100 up, and addresses of actors that Init made. */
const MAYBE_CHANNEL = /^[ft](0[1-9]\d{2,}$|2)/
const ACTOR_MADE_BY_INIT = 2
const BLS = 3

/** Replaces every message in a node's answer for which {@link concernsNobody} returns true. */
export const NOT_OURS: unknown = Object.freeze({ Message: Object.freeze({ To: '', Method: -1 }) })

/** Returns true for an executed message of a node's answer only if {@link decodeExecuted} would skip it. */
export function concernsNobody(item: unknown): boolean {
  if (typeof item !== 'object' || item === null || !('Cid' in item) || !('Message' in item)) return false
  const { Message: fields } = item
  if (typeof fields !== 'object' || fields === null || !('To' in fields) || !('Method' in fields))
    return false
  const isReadable = typeof fields.To === 'string' && typeof fields.Method === 'number'
  return isReadable && !mayConcernUs(fields)
}

/**
 * Returns the messages of one tipset that could concern a payment channel, in execution order. These are messages to
 * Init that create an actor, and channel methods sent to a possible channel. `messages` and `receipts` are a node's
 * answers for the tipset's child. Throws a BadAnswer when they do not match.
 */
export function decodeExecuted(messages: unknown, receipts: unknown): ExecutedMessage[] {
  const sent = itemsOf(messages, 'messages')
  const results = itemsOf(receipts, 'receipts')
  if (sent.length !== results.length) {
    throw new BadAnswer(`${sent.length} messages and ${results.length} receipts of one tipset`)
  }
  return sent.flatMap((item, index) => {
    const { Cid, Message } = record(item, 'executed message')
    const receipt = record(results[index], 'receipt')
    const fields = record(Message, 'message')
    if (integer(receipt['ExitCode'], 'exit code') !== 0n || !mayConcernUs(fields)) return []
    const cid = cidOf(Cid, 'message CID')
    const message = messageOf(fields, cid)
    checkCid(message, cid, fields['CID'])
    return [{ cid, index, message, returned: bytesOf(receipt['Return'], 'receipt’s return') }]
  })
}

/** Must be cheap: it runs for every message of the network. */
function mayConcernUs(fields: Record<string, unknown>): boolean {
  const method = fields['Method']
  const to = textOf(fields['To'], 'message receiver')
  if (typeof method !== 'number') {
    integer(method, 'message method')
    return false
  }
  if (method === ACTOR_MADE_BY_INIT && INIT_ACTOR.test(to)) return true
  if (!MAYBE_CHANNEL.test(to)) return false
  if (method === 0) return fields['Value'] !== '0'
  if (method === 2) return true
  return (method === 3 || method === 4) && isEmpty(fields['Params'])
}

function isEmpty(params: unknown): boolean {
  return params === null || params === undefined || params === ''
}

/** `cid` names the message in errors. Throws a BadAnswer. */
export function messageOf(fields: Record<string, unknown>, cid: string): Message {
  return {
    version: Number(integer(fields['Version'] ?? 0, 'message version')),
    to: addressOf(fields['To'], cid),
    from: addressOf(fields['From'], cid),
    nonce: integer(fields['Nonce'], 'message nonce'),
    value: amount(fields['Value'], 'message value'),
    gasLimit: integer(fields['GasLimit'], 'message gas limit'),
    gasFeeCap: amount(fields['GasFeeCap'], 'message gas fee cap'),
    gasPremium: amount(fields['GasPremium'], 'message gas premium'),
    method: integer(fields['Method'], 'message method'),
    params: bytesOf(fields['Params'], 'message parameters'),
  }
}

function addressOf(value: unknown, cid: string): FilecoinAddress {
  const address = parseAddress(textOf(value, 'message address'))
  if (address === null) throw new BadAnswer(`message ${cid}: its sender or receiver is no address`)
  return address
}

/**
 * Verifies an endpoint's message against its CID. A BLS sender's message is known by the CID of the unsigned message.
 * Other CIDs cover the signature too, which this answer lacks, so the unsigned CID (`inner`) is compared where given.
 * An ID address does not reveal whether its key is BLS.
 */
function checkCid(message: Message, cid: string, inner: unknown): void {
  const unsigned = unsignedCid(message, cid)
  const named = inner === undefined || inner === null ? null : cidOf(inner, 'unsigned message CID')
  if ((named !== null && named !== unsigned) || (message.from.protocol === BLS && cid !== unsigned)) {
    throw new BadAnswer(`message ${cid}: its content is of ${unsigned}`)
  }
}

function unsignedCid(message: Message, cid: string): string {
  try {
    return messageCid(message)
  } catch (error) {
    if (error instanceof RangeError) throw new BadAnswer(`message ${cid}: ${error.message}`)
    throw error
  }
}
