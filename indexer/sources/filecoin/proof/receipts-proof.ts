import { parseCid } from '../../../../shared/filecoin/block-cid.ts'
import { sameBytes } from '../../../../shared/filecoin/bytes.ts'
import {
  RECEIPT_FIELDS,
  receiptsRoot,
  type MessageReceipt,
  type ReceiptFields,
} from '../../../../shared/filecoin/receipt.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { integer, isRecord, itemsOf, record, textOf } from '../decode-json.ts'
import type { LotusRules } from './lotus-rules.ts'

/** Compares receipts with the root in a header. The encoding that matched last is tried first. */
export class ReceiptsProof {
  readonly #rules: LotusRules
  #fields: ReceiptFields = RECEIPT_FIELDS[0]

  constructor(rules: LotusRules) {
    this.#rules = rules
  }

  /**
   * Returns whether the root is that of the receipts, which are a node's answer. Throws a BadAnswer when it is not, unless
   * this chain's rule was given up.
   */
  check(receipts: unknown, root: string, height: number): boolean {
    const list = itemsOf(receipts, 'receipts').map(receiptOf)
    const expected = parseCid(root)
    for (const fields of [this.#fields, ...RECEIPT_FIELDS]) {
      if (expected === null || !isRootOf(list, fields, expected)) continue
      // Receipts of an empty list have no encoding.
      if (list.length > 0) {
        this.#fields = fields
        this.#rules.held('receipts')
      }
      return true
    }
    if (this.#rules.known.receipts === false) return false
    throw new BadAnswer(`its ${list.length} receipts of the tipset at ${height} are not those under ${root}`)
  }
}

function isRootOf(list: readonly MessageReceipt[], fields: ReceiptFields, root: Uint8Array): boolean {
  try {
    return sameBytes(receiptsRoot(list, fields), root)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function receiptOf(value: unknown): MessageReceipt {
  const receipt = record(value, 'receipt')
  const { ExitCode, Return, GasUsed, EventsRoot, IpldCodec, Message } = receipt
  return {
    exitCode: integer(ExitCode, 'exit code'),
    returned: Return === null ? NO_BYTES : Buffer.from(textOf(Return, 'receipt’s return'), 'base64'),
    gasUsed: integer(GasUsed, 'gas used'),
    eventsRoot: linkOrNull(EventsRoot),
    ipldCodec: IpldCodec === undefined ? 0n : integer(IpldCodec, 'codec'),
    message: linkOrNull(Message),
  }
}

const NO_BYTES = new Uint8Array()

function linkOrNull(value: unknown): Uint8Array | null {
  if (value === null || value === undefined) return null
  const cid = isRecord(value) ? parseCid(textOf(value['/'], 'CID')) : null
  if (cid === null) throw new BadAnswer('CID: malformed')
  return cid
}
