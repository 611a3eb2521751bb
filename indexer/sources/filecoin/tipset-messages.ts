import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { decodeExecuted, type ExecutedMessage } from './decode-executed.ts'
import { itemsOf } from './decode-json.ts'
import type { Tipset } from './decode-tipset.ts'
import { cidParam, lotusCall } from './lotus-call.ts'
import type { DueTipset, MessagesProof } from './proof/messages-proof.ts'
import type { ReceiptsProof } from './proof/receipts-proof.ts'

/** A tipset, and the child that contains the results of its messages. */
export interface ExecutedTipset {
  header: BlockHeader
  child: Tipset
}

/** Messages that ran in one tipset and could concern a payment channel. */
export interface TipsetMessages extends ExecutedTipset {
  executed: ExecutedMessage[]
  /** Whether receipts, and messages of channels, are those to which headers commit. */
  isProven: boolean
}

const FIRST_TIPSETS = 10
const MOST_TIPSETS = 50
/** Messages of any kind in one answer. Memory must hold several answers of this size. */
const TARGET_MESSAGES = 1_000

/** Estimates how many tipsets' messages fit into one request, from the sizes of the last ones. */
export class RequestSize {
  #tipsets = FIRST_TIPSETS

  get tipsets(): number {
    return this.#tipsets
  }

  read(tipsets: number, messages: number): void {
    const fit = Math.floor((TARGET_MESSAGES * tipsets) / Math.max(1, messages))
    this.#tipsets = Math.max(1, Math.min(MOST_TIPSETS, fit, this.#tipsets * 2))
  }
}

export interface Reading {
  size: RequestSize
  receiptsProof: ReceiptsProof
  messagesProof: MessagesProof
}

/**
 * Reads the executed messages of these tipsets with their receipts: two calls per tipset, many in one request, and the
 * lists of some tipsets' blocks. Throws a BadAnswer when headers commit to other receipts or messages.
 */
export async function readExecuted(
  { endpoint, tipsetOf }: { endpoint: RpcEndpoint; tipsetOf: (key: string) => Promise<Tipset> },
  tipsets: readonly ExecutedTipset[],
  { size, receiptsProof, messagesProof }: Reading,
): Promise<TipsetMessages[]> {
  const read: TipsetMessages[] = []
  while (read.length < tipsets.length) {
    const batch = tipsets.slice(read.length, read.length + size.tipsets)
    const answers = await endpoint.send(
      batch.flatMap(({ child }) => [
        lotusCall('ChainGetParentMessages', cidParam(child.firstCid)),
        lotusCall('ChainGetParentReceipts', cidParam(child.firstCid)),
      ]),
    )
    let count = 0
    const items: TipsetMessages[] = []
    const due: DueTipset[] = []
    for (const [index, tipset] of batch.entries()) {
      const messages = endpoint.resultOf('ChainGetParentMessages', answers[2 * index])
      const receipts = endpoint.resultOf('ChainGetParentReceipts', answers[2 * index + 1])
      count += itemsOf(messages, 'messages').length
      const root = tipset.child.commitments?.parentReceipts
      const executed = decodeExecuted(messages, receipts)
      const isProven = root !== undefined && receiptsProof.check(receipts, root, tipset.header.number)
      if (isProven && messagesProof.isDue(endpoint, { executed, receipts }))
        due.push({ tipset: await tipsetOf(tipset.header.hash), executed, receipts })
      items.push({ ...tipset, executed, isProven })
    }
    const isListed = due.length === 0 || (await messagesProof.check(endpoint, due))
    const isOpen = ({ header }: TipsetMessages): boolean =>
      !isListed && due.some(({ tipset }) => tipset.key === header.hash)
    read.push(...items.map((item) => (isOpen(item) ? { ...item, isProven: false } : item)))
    size.read(batch.length, count)
  }
  return read
}
