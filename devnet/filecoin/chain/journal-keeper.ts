import { decodeVoucher, encodeVoucher, type SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import type { SignatureChecks } from '../vm/signature-checks.ts'
import type { BlockPlan } from './block.ts'
import type { Journal, JournalRecord } from './journal.ts'
import { decodeSignedMessage, encodeSignedMessage, type SignedMessage } from './signed-message.ts'
import type { Tipset } from './tipset.ts'

/** Writes events to the journal. Messages and tipsets are named by their numbers there. */
export class JournalKeeper {
  readonly messages: SignedMessage[] = []
  private readonly numbers = new Map<string, number>()
  private readonly tipsetNumbers = new WeakMap<Tipset, number>()
  private readonly journal: Journal
  private tipsets = 0
  private loading = false

  constructor(journal: Journal) {
    this.journal = journal
  }

  pushed(signed: SignedMessage, keepRival: boolean): void {
    this.numbers.set(signed.cid, this.messages.length)
    this.messages.push(signed)
    const push = Buffer.from(encodeSignedMessage(signed)).toString('base64')
    this.write(keepRival ? { push, keepRival } : { push })
  }

  checked(key: string, valid: boolean): void {
    this.write({ checked: key, valid })
  }

  added(tipset: Tipset): void {
    this.tipsetNumbers.set(tipset, this.tipsets++)
    if (tipset.parent === null) return
    const blocks = tipset.blocks.map(({ miner, messages }): [number, number[]] => [
      miner,
      messages.map(({ cid }) => this.numberOf(cid)),
    ])
    const record = {
      tipset: tipset.height,
      on: this.tipsetNumber(tipset.parent),
      salt: saltOf(tipset),
      blocks,
    }
    this.write(tipset.costly.size === 0 ? record : { ...record, costly: [...tipset.costly] })
  }

  head(tipset: Tipset): void {
    this.write({ head: this.tipsetNumber(tipset) })
  }

  nextHeight(height: number): void {
    this.write({ next: height })
  }

  voucher(channel: string, voucher: SignedVoucher): void {
    this.write({ voucher: Buffer.from(encodeVoucher(voucher)).toString('base64'), channel })
  }

  flush(): void {
    this.journal.flush()
  }

  close(): void {
    this.journal.close()
  }

  /** Suppresses writing, because replayed events are in the journal already. */
  whileLoading(load: () => void): void {
    this.loading = true
    load()
    this.loading = false
  }

  private write(record: JournalRecord): void {
    if (!this.loading) this.journal.write(record)
  }

  private numberOf(cid: string): number {
    const number = this.numbers.get(cid)
    if (number === undefined) throw new Error(`message ${cid} was never pushed`)
    return number
  }

  private tipsetNumber(tipset: Tipset): number {
    const number = this.tipsetNumbers.get(tipset)
    if (number === undefined) throw new Error('a tipset that was never added')
    return number
  }
}

/** The first block's salt fits all blocks, because a widened tipset adds only blocks of the same branch. */
function saltOf(tipset: Tipset): string {
  return tipset.blocks[0]?.salt ?? ''
}

export interface Restorable {
  readonly store: { readonly head: Tipset }
  readonly checks: SignatureChecks
  restorePush(signed: SignedMessage, keepRival: boolean): void
  restoreTipset(
    parent: Tipset,
    height: number,
    plans: readonly BlockPlan[],
    costly: ReadonlySet<string>,
  ): Tipset
  restoreNext(height: number): void
  restoreVoucher(channel: string, voucher: SignedVoucher): void
  moveTo(tipset: Tipset): unknown
}

export function restoreChain(
  records: readonly JournalRecord[],
  keeper: JournalKeeper,
  chain: Restorable,
): void {
  const tipsets = [chain.store.head]
  const tipsetAt = (number: number): Tipset => {
    const tipset = tipsets[number]
    if (tipset === undefined) throw new Error(`the journal names a tipset ${number} that it does not have`)
    return tipset
  }
  const restore = (record: JournalRecord): void => {
    if ('push' in record) {
      const signed = decodeSignedMessage(Buffer.from(record.push, 'base64'))
      chain.restorePush(signed, record.keepRival ?? false)
      keeper.pushed(signed, record.keepRival ?? false)
    } else if ('checked' in record) chain.checks.remember(record.checked, record.valid)
    else if ('tipset' in record) {
      const plans = record.blocks.map(([miner, numbers]) => ({
        miner,
        salt: record.salt,
        messages: numbers.flatMap((number) => keeper.messages[number] ?? []),
      }))
      tipsets.push(chain.restoreTipset(tipsetAt(record.on), record.tipset, plans, new Set(record.costly)))
    } else if ('head' in record) chain.moveTo(tipsetAt(record.head))
    else if ('next' in record) chain.restoreNext(record.next)
    else chain.restoreVoucher(record.channel, decodeVoucher(Buffer.from(record.voucher, 'base64')))
  }
  keeper.whileLoading(() => records.forEach(restore))
}
