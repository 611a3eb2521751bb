import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'
import type { ResumePoint } from './chain-source.ts'

/** The delivered part of the chain: the position, and the blocks below it that may still be reorganized. */
export class KnownBranch {
  #position: BlockRef | null
  /** Ascending and linked, ending with the position; empty while the position is final. */
  #headers: BlockHeader[]
  /** The newest block that is never rolled back. */
  #final: BlockRef | null
  /** The last finalized block that was reported. */
  #told: BlockRef | null

  /**
   * A position without headers was read as final, and so was the block before its headers. Headers that do not lead up
   * to the position belong to older blocks, which are final by now. They are ignored.
   */
  constructor(resume: ResumePoint) {
    this.#position = resume.position
    this.#told = resume.finalized
    const headers = leadingUpTo(resume.position, resume.headers)
    this.#final = finalBefore(headers, resume)
    const final = this.#final
    this.#headers = headers.filter(({ number }) => final === null || number > final.number)
  }

  get position(): BlockRef | null {
    return this.#position
  }

  get final(): BlockRef | null {
    return this.#final
  }

  get told(): BlockRef | null {
    return this.#told
  }

  get headers(): readonly BlockHeader[] {
    return this.#headers
  }

  /** Returns our block's hash at that height, or null when it is not (or no longer) known. */
  hashAt(number: number): string | null {
    if (this.#position?.number === number) return this.#position.hash
    if (this.#final?.number === number) return this.#final.hash
    const first = this.#headers[0]
    return first === undefined ? null : (this.#headers[number - first.number]?.hash ?? null)
  }

  /** Records the delivery of final blocks up to `to`. */
  advanceFinal(to: BlockRef): void {
    this.#position = { number: to.number, hash: to.hash }
    this.#final = this.#position
    this.#headers = []
  }

  /** Records the delivery of blocks that may still be reorganized. */
  advance(headers: readonly BlockHeader[]): void {
    const last = headers.at(-1)
    if (last === undefined) return
    this.#headers.push(...headers)
    this.#position = { number: last.number, hash: last.hash }
  }

  /** Records that these headers replace every block after `ancestor`. */
  replace(ancestor: BlockRef, headers: readonly BlockHeader[]): void {
    this.#headers = this.#headers.filter(({ number }) => number <= ancestor.number)
    this.advance(headers)
  }

  tellFinal(block: BlockRef): void {
    this.#told = block
    if (this.#final === null || block.number > this.#final.number) this.#final = block
    const final = this.#final.number
    this.#headers = this.#headers.filter(({ number }) => number > final)
  }
}

/** Returns the headers that end with the position, each continuing the one before. */
function leadingUpTo(position: BlockRef | null, headers: readonly BlockHeader[]): BlockHeader[] {
  const last = headers.at(-1)
  if (last === undefined || last.number !== position?.number || last.hash !== position.hash) return []
  let first = headers.length - 1
  while (first > 0 && isContinuedBy(headers[first - 1], headers[first])) first -= 1
  return headers.slice(first)
}

function isContinuedBy(before: BlockHeader | undefined, header: BlockHeader | undefined): boolean {
  return before?.number === (header?.number ?? 0) - 1 && before.hash === header?.parentHash
}

/** Returns the newest block that is certainly final, given the headers after it. */
function finalBefore(headers: readonly BlockHeader[], { position, finalized }: ResumePoint): BlockRef | null {
  const first = headers[0]
  if (first === undefined) return position ?? finalized
  // The first header may be that of the first block ever read while no block is final.
  if (finalized === null || first.number <= finalized.number + 1) return finalized
  return { number: first.number - 1, hash: first.parentHash }
}
