import { LRUCache } from 'lru-cache'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { RangeEvidence } from '../../shared/events/chain-step.ts'
import type { BlocksRead } from './chain-source.ts'

/** More than the blocks of any branch that may still be reorganized. */
const MOST_REMEMBERED = 2048

interface Proven {
  root: string
  /** The evidence of this one block, once a block of the index commits to the root. */
  evidence: RangeEvidence
  /** No block of the index commits to the root yet. */
  isOpen: boolean
}

/** What a step takes over from a read. */
export interface TakenRead {
  events: ChainEvent[]
  evidence: RangeEvidence[]
  /** Evidence of the block before the first one. */
  ofBefore: RangeEvidence[]
}

/**
 * Remembers by which results blocks of the index were proven. The last block of a read is proven by a block that is not in the
 * index, and which its endpoint may have made up. Its evidence is raised when the next block of the index shows the same.
 */
export class ProvenResults {
  readonly #proven = new LRUCache<string, Proven>({ max: MOST_REMEMBERED })

  /** Returns the hash of the block before these if these commit to other results than it was read with; else null. */
  disproven({ results }: BlocksRead): string | null {
    const before = results?.before
    if (before == null) return null
    const known = this.#proven.get(before.hash)
    return known === undefined || known.root === before.root ? null : before.hash
  }

  /** Takes over blocks that continue the index. Evidence of a disproven block is lowered. */
  take({ events, evidence, results }: BlocksRead): TakenRead {
    const ofBefore = results?.before == null ? [] : this.#judge(results.before)
    const last = results?.blocks.at(-1)
    for (const { number, hash, root } of results?.blocks ?? []) {
      const endpoint = evidence.find(({ from, to }) => from <= number && number <= to)?.endpoint ?? ''
      const own = { from: number, to: number, endpoint, check: 'receipts' } as const
      this.#proven.set(hash, { root, evidence: own, isOpen: hash === last?.hash })
    }
    return { events, evidence, ofBefore }
  }

  #judge({ hash, root }: { hash: string; root: string }): RangeEvidence[] {
    const known = this.#proven.get(hash)
    if (known === undefined) return []
    if (known.root !== root) {
      this.#proven.delete(hash)
      return [{ ...known.evidence, check: 'one' }]
    }
    if (!known.isOpen) return []
    this.#proven.set(hash, { ...known, isOpen: false })
    return [known.evidence]
  }
}
