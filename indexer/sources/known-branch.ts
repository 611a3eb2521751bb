import type { BlockHeader, BlockRef } from '../../shared/events/chain-step.ts'
import type { ResumePoint } from './chain-source.ts'

/** The part of the chain that was delivered: the position, the blocks that may still be reorganized, and where they begin. */
export class KnownBranch {
  #position: BlockRef | null
  /** Ascending and linked, ending with the position; empty while the position is final. */
  #headers: BlockHeader[]
  /** Nothing up to here is ever rolled back. */
  #final: BlockRef | null
  /** The last finalized block that was told. */
  #told: BlockRef | null

  /**
   * A position without headers was read as final, and so was the block before the headers that lead up to it. Headers
   * that do not are of blocks further back: they are final by now, and nothing is said by them.
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

  /** Our block's hash at that height; null where it is not known (any more). */
  hashAt(number: number): string | null {
    if (this.#position?.number === number) return this.#position.hash
    if (this.#final?.number === number) return this.#final.hash
    const first = this.#headers[0]
    return first === undefined ? null : (this.#headers[number - first.number]?.hash ?? null)
  }

  /** Final blocks were delivered, up to `to`. */
  advanceFinal(to: BlockRef): void {
    this.#position = { number: to.number, hash: to.hash }
    this.#final = this.#position
    this.#headers = []
  }

  /** Blocks were delivered that may still be reorganized. */
  advance(headers: readonly BlockHeader[]): void {
    const last = headers.at(-1)
    if (last === undefined) return
    this.#headers.push(...headers)
    this.#position = { number: last.number, hash: last.hash }
  }

  /** Everything after `ancestor` was replaced by these. */
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

/** The headers that end with the position, each continuing the one before. */
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

/** What is final at least, with these headers after it. */
function finalBefore(headers: readonly BlockHeader[], { position, finalized }: ResumePoint): BlockRef | null {
  const first = headers[0]
  if (first === undefined) return position ?? finalized
  // Until a block is final, the first header may be that of the first block that was read.
  if (finalized === null || first.number <= finalized.number + 1) return finalized
  return { number: first.number - 1, hash: first.parentHash }
}
