import { actorIdOf } from '../../../../shared/filecoin/address.ts'
import { blockCid, parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { concatBytes, sameBytes } from '../../../../shared/filecoin/bytes.ts'
import { CborWriter } from '../../../../shared/filecoin/cbor-writer.ts'
import { DecodeError } from '../../../../shared/filecoin/decode-error.ts'
import { INIT_ACTOR_ID } from '../../../../shared/filecoin/init-actor.ts'
import { encodeMessage, messageCid } from '../../../../shared/filecoin/message.ts'
import { decodeUpdateParams, PAYCH_UPDATE, SEND } from '../../../../shared/filecoin/payment-channel.ts'
import type { Report } from '../../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { decodeExecuted, messageOf, type ExecutedMessage } from '../decode-executed.ts'
import { bytesOf, itemsOf, wholeNumber } from '../decode-json.ts'
import type { Tipset } from '../decode-tipset.ts'
import { cidParam, lotusCall } from '../lotus-call.ts'
import { blockMessages, executionOrder, type ListedMessage } from './block-lists.ts'
import type { LotusRules } from './lotus-rules.ts'

/** A tipset whose receipts are proven, and the node's answer with them. */
export interface DueTipset {
  tipset: Tipset
  executed: readonly ExecutedMessage[]
  receipts: unknown
}

/** One of so many tipsets is compared although it has no message of a channel. */
const SAMPLE = 50

/**
 * Compares executed messages with the lists to which the blocks of their tipset commit. Receipts do not name their
 * message, so nothing else shows that a node put another message in its place. The lists repeat all messages for each
 * block. They are therefore read only where a channel's message was executed, and of a sample, which shows a node that
 * hides such a message behind another. Of an endpoint that was found out they are read for all tipsets.
 */
export class MessagesProof {
  readonly #rules: LotusRules
  readonly #report: Report
  readonly #suspects = new WeakSet<RpcEndpoint>()
  #isMissed = false

  constructor(rules: LotusRules, report: Report) {
    this.#rules = rules
    this.#report = report
  }

  isDue(endpoint: RpcEndpoint, { executed, receipts }: Pick<DueTipset, 'executed' | 'receipts'>): boolean {
    if (itemsOf(receipts, 'receipts').length === 0) return false
    return this.#suspects.has(endpoint) || executed.some(isOfChannel) || Math.random() < 1 / SAMPLE
  }

  /**
   * Returns whether the executed messages are those of the blocks; false if the lists cannot be read or show too little. Throws a BadAnswer when
   * they are others, unless this chain's rule was given up.
   */
  async check(endpoint: RpcEndpoint, due: readonly DueTipset[]): Promise<boolean> {
    if (due.some(({ tipset }) => tipset.commitments === null)) return false
    const cids = due.map(({ tipset }) => tipset.key.split(','))
    const answers = await endpoint.send(
      cids.flat().map((cid) => lotusCall('ChainGetBlockMessages', cidParam(cid))),
    )
    if (answers.some(isUnsupported)) {
      this.#sayMissed(endpoint)
      return false
    }
    try {
      let next = 0
      let areSame = true
      for (const item of due) {
        const roots = item.tipset.commitments?.messages ?? []
        const lists = roots.map((root) =>
          blockMessages(endpoint.resultOf('ChainGetBlockMessages', answers[next++]), root),
        )
        areSame = isSame(item, lists) && areSame
      }
      this.#rules.held('messages')
      return areSame
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      if (this.#rules.known.messages === false) return false
      this.#suspects.add(endpoint)
      throw error
    }
  }

  #sayMissed({ label }: RpcEndpoint): void {
    if (this.#isMissed) return
    this.#isMissed = true
    this.#report('warn', `${label} does not list the messages of blocks: those of channels are not proven`)
  }
}

function isUnsupported(answer: RpcAnswer): boolean {
  return !answer.ok && answer.kind === 'unsupported'
}

/**
 * Returns true for creations of actors and for methods of channels. Transfers are too many to compare: most receivers are
 * no channel, which only the writer knows.
 */
function isOfChannel({ message: { to, method, params } }: ExecutedMessage): boolean {
  if (method !== PAYCH_UPDATE) return method !== SEND
  if (actorIdOf(to) === INIT_ACTOR_ID) return true
  try {
    decodeUpdateParams(params)
    return true
  } catch (error) {
    if (error instanceof DecodeError) return false
    throw error
  }
}

/**
 * Returns whether the executed messages are those of the lists, in their order. False if the lists do not show which
 * messages ran: a sender that blocks name by two addresses. Throws a BadAnswer where messages differ.
 */
function isSame({ tipset: { height }, executed, receipts }: DueTipset, lists: ListedMessage[][]): boolean {
  const refuse = (): never => {
    throw new BadAnswer(`its messages of the tipset at ${height} are not those of the blocks`)
  }
  // Content decides which messages are skipped or taken for repetitions, so all of it is hashed.
  if (!lists.flat().every(isNamed)) refuse()
  const listed = executionOrder(lists)
  if (listed.length !== itemsOf(receipts, 'receipts').length) return false
  const items = listed.map(({ cid, message }) => ({ Cid: cidParam(cid), Message: message }))
  return describe(decodeExecuted(items, receipts)) === describe(executed) || refuse()
}

function describe(executed: readonly ExecutedMessage[]): string {
  return executed.map(({ cid, index, message }) => `${index} ${cid} ${messageCid(message)}`).join()
}

const writer = new CborWriter()

/** Returns whether the message's content and signature hash to its name. */
function isNamed({ cid, message, signature }: ListedMessage): boolean {
  try {
    const bytes = encodeMessage(messageOf(message, cid))
    if (signature === null) return sameBytes(blockCid(bytes), parseCid(cid) ?? new Uint8Array())
    const type = wholeNumber(signature['Type'], 'signature type')
    const signed = concatBytes(Uint8Array.of(type), bytesOf(signature['Data'], 'signature'))
    const block = writer.begin().array(2).raw(bytes).bytes(signed).take()
    return sameBytes(blockCid(block), parseCid(cid) ?? new Uint8Array())
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
