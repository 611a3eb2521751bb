import { amtRoot } from './amt.ts'
import { CborWriter } from './cbor-writer.ts'

export interface MessageReceipt {
  exitCode: number | bigint
  returned: Uint8Array
  gasUsed: number | bigint
  /** CID of the emitted events. */
  eventsRoot: Uint8Array | null
  /** Codec of `returned`, and CID of the message; only in receipts of six fields. */
  ipldCodec?: number | bigint
  message?: Uint8Array | null
}

/**
 * Fields of a receipt: 3 until network version 17, 4 with the events since 18, 6 with FIP-0107. Nodes show the same JSON
 * for 3 and 4, so only the root tells which one a tipset has.
 */
export const RECEIPT_FIELDS = [4, 3, 6] as const
export type ReceiptFields = (typeof RECEIPT_FIELDS)[number]

const writer = new CborWriter()

/** Throws a RangeError when a field cannot hold its number. */
export function encodeReceipt(receipt: MessageReceipt, fields: ReceiptFields): Uint8Array {
  writer.begin().array(fields).integer(receipt.exitCode).bytes(receipt.returned).integer(receipt.gasUsed)
  if (fields >= 4) linkOrNothing(receipt.eventsRoot)
  if (fields === 6) {
    writer.integer(receipt.ipldCodec ?? 0)
    linkOrNothing(receipt.message ?? null)
  }
  return writer.take()
}

/** Returns the CID (38 bytes) that the child's headers call `ParentMessageReceipts`. */
export function receiptsRoot(receipts: readonly MessageReceipt[], fields: ReceiptFields): Uint8Array {
  return amtRoot(receipts.map((receipt) => encodeReceipt(receipt, fields)))
}

function linkOrNothing(cid: Uint8Array | null): void {
  if (cid === null) writer.nothing()
  else writer.link(cid)
}
