import type { Block } from './block.ts'
import { keyOf, type Tipset } from './tipset.ts'

export interface HeadChange {
  type: 'current' | 'revert' | 'apply'
  tipset: Tipset
}

/** Epochs behind the head after which abandoned branches are dropped. */
const ABANDONED_KEPT_EPOCHS = 2000
/** Head changes (tipsets reverted or applied) between two prunings. */
const PRUNE_EVERY = 500

/** Every tipset that was built, and which of them form the chain. */
export class ChainStore {
  /** From genesis to head. */
  private readonly canonical: Tipset[] = []
  private readonly tipsetOfBlock = new Map<string, Tipset>()
  /** Tipsets whose blocks are also part of a later, fuller tipset. */
  private readonly narrower = new Map<string, Tipset>()
  private readonly executedIn = new Map<string, Tipset>()
  private abandoned: Tipset[] = []
  private readonly stateHistoryEpochs: number
  private statesFrom = 0
  private sincePruned = 0

  constructor(stateHistoryEpochs: number) {
    this.stateHistoryEpochs = stateHistoryEpochs
  }

  get head(): Tipset {
    const head = this.canonical.at(-1)
    if (head === undefined) throw new Error('the chain has no genesis yet')
    return head
  }

  get genesis(): Tipset {
    return this.canonical[0] ?? this.head
  }

  add(tipset: Tipset): void {
    for (const { cid } of tipset.blocks) {
      const other = this.tipsetOfBlock.get(cid)
      if (other !== undefined) this.narrower.set(keyOf(other).join(), other)
      this.tipsetOfBlock.set(cid, tipset)
    }
  }

  byKey(cids: readonly string[]): Tipset | undefined {
    const first = this.tipsetOfBlock.get(cids[0] ?? '')
    const key = cids.join()
    return first !== undefined && keyOf(first).join() === key ? first : this.narrower.get(key)
  }

  block(cid: string): { block: Block; tipset: Tipset } | undefined {
    const tipset = this.tipsetOfBlock.get(cid)
    const block = tipset?.blocks.find((candidate) => candidate.cid === cid)
    return tipset === undefined || block === undefined ? undefined : { block, tipset }
  }

  /** Returns the tipset that includes an executed message of the chain. Undefined while the tipset has no child. */
  inclusionOf(cid: string): Tipset | undefined {
    const tipset = this.executedIn.get(cid)
    return tipset === this.head ? undefined : tipset
  }

  /** Returns the child of a tipset of the chain. */
  childOf(tipset: Tipset): Tipset | undefined {
    return this.canonical[this.position(tipset.height) + 1]
  }

  isCanonical(tipset: Tipset): boolean {
    return this.canonical[this.position(tipset.height)] === tipset
  }

  /** Returns the newest tipset at or below a height on the branch of `start`. */
  atOrBelow(height: number, start: Tipset): Tipset {
    let tipset = start
    while (!this.isCanonical(tipset) && tipset.height > height && tipset.parent !== null)
      tipset = tipset.parent
    if (tipset.height <= height) return tipset
    return this.canonical[this.position(height)] ?? this.genesis
  }

  /** Returns the oldest tipset at or above a height on the branch of `start`. */
  atOrAbove(height: number, start: Tipset): Tipset {
    let tipset = start
    while (!this.isCanonical(tipset) && tipset.parent !== null && tipset.parent.height >= height)
      tipset = tipset.parent
    if (!this.isCanonical(tipset)) return tipset
    const below = this.position(height)
    const found = this.canonical[below]?.height === height ? this.canonical[below] : this.canonical[below + 1]
    return found ?? tipset
  }

  /** Reverts from `from` downwards, then applies up to `to`. */
  path(from: Tipset, to: Tipset): HeadChange[] {
    const reverts: HeadChange[] = []
    const applies: HeadChange[] = []
    let [left, right] = [from, to]
    while (left !== right) {
      if (left.height >= right.height && left.parent !== null) {
        reverts.push({ type: 'revert', tipset: left })
        left = left.parent
      } else if (right.parent !== null) {
        applies.push({ type: 'apply', tipset: right })
        right = right.parent
      } else break
    }
    return [...reverts, ...applies.reverse()]
  }

  /** Makes `tipset` the head and returns the reverted and applied tipsets. */
  setHead(tipset: Tipset): HeadChange[] {
    const changes =
      this.canonical.length === 0 ? [{ type: 'apply' as const, tipset }] : this.path(this.head, tipset)
    for (const change of changes) {
      if (change.type === 'revert') this.revert(change.tipset)
      else this.apply(change.tipset)
    }
    this.sincePruned += changes.length
    if (this.sincePruned >= PRUNE_EVERY) this.prune()
    return changes
  }

  private apply(tipset: Tipset): void {
    this.canonical.push(tipset)
    for (const { cid } of tipset.execution.messages) this.executedIn.set(cid, tipset)
  }

  private revert(tipset: Tipset): void {
    this.canonical.pop()
    this.abandoned.push(tipset)
    for (const { cid } of tipset.execution.messages) this.executedIn.delete(cid)
  }

  /** Returns the index of the newest tipset at or below a height. */
  private position(height: number): number {
    let low = 0
    let high = this.canonical.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.canonical[middle]?.height ?? Infinity) <= height) low = middle
      else high = middle - 1
    }
    return low
  }

  /** Drops old states and old branches, so that a long chain takes memory only for its blocks and messages. */
  private prune(): void {
    this.sincePruned = 0
    const { height } = this.head
    for (let at = this.statesFrom; ; at++) {
      const tipset = this.canonical[at]
      if (tipset === undefined || tipset.height >= height - this.stateHistoryEpochs) break
      tipset.state = null
      this.statesFrom = at + 1
    }
    this.abandoned = this.abandoned.filter((tipset) => {
      const recent = tipset.height >= height - ABANDONED_KEPT_EPOCHS
      if (!recent) this.forget(tipset)
      return recent
    })
  }

  private forget(tipset: Tipset): void {
    if (this.isCanonical(tipset)) return
    this.narrower.delete(keyOf(tipset).join())
    for (const { cid } of tipset.blocks)
      if (this.tipsetOfBlock.get(cid) === tipset) this.tipsetOfBlock.delete(cid)
  }
}
