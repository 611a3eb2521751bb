import { cidText } from '../../devnet/filecoin/chain/block.ts'
import { parseCid } from '../../shared/filecoin/block-cid.ts'
import { messagesRoot } from '../../shared/filecoin/messages-root.ts'
import { receiptsRoot, type MessageReceipt } from '../../shared/filecoin/receipt.ts'
import type { QuietMessage } from './quiet-messages.ts'
import type { Roots } from './tipsets.ts'

/** A message's CID and its receipt, to which headers commit. */
export interface Outcome {
  cid: string
  receipt: MessageReceipt
}

/** Of a receipt on every network today. */
const FIELDS = 4

/** The first block of a tipset has a channel's message, if any, and the second block all others. */
export function rootsOf(
  actions: ReadonlyMap<number, Outcome>,
  quiet: readonly QuietMessage[],
): (height: number) => Roots {
  const nothing = cidText(messagesRoot([], []))
  const others = cidText(
    messagesRoot(
      quiet.map(({ cid }) => linkOf(cid)),
      [],
    ),
  )
  const receipts = quiet.map(({ receipt }) => receipt)
  const whole = (own: Outcome | undefined): Roots => {
    const first = own === undefined ? nothing : cidText(messagesRoot([], [linkOf(own.cid)]))
    const results = own === undefined ? receipts : [own.receipt, ...receipts]
    return {
      receipts: cidText(receiptsRoot(results, FIELDS)),
      messages: [first, others, nothing, nothing, nothing],
    }
  }
  const usual = whole(undefined)
  const special = new Map([...actions].map(([height, own]) => [height, whole(own)]))
  return (height) => special.get(height) ?? usual
}

function linkOf(cid: string): Uint8Array {
  return parseCid(cid) ?? new Uint8Array()
}
