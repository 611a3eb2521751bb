import { LRUCache } from 'lru-cache'
import type { Tipset } from './decode-tipset.ts'

/** The last tipsets that were read, by key, and their children. */
export class TipsetMemory {
  readonly #tipsets: LRUCache<string, Tipset>
  /**
   * Any child will do, for each commits to the same execution of its parents; but an endpoint need not have one that
   * is on no branch any more. So the branch that was walked last rules.
   */
  readonly #children = new Map<string, Tipset>()

  constructor(max: number) {
    this.#tipsets = new LRUCache({
      max,
      noDisposeOnSet: true,
      dispose: (tipset) => {
        if (this.#children.get(tipset.parentKey)?.key === tipset.key) this.#children.delete(tipset.parentKey)
      },
    })
  }

  add(tipset: Tipset): void {
    this.#tipsets.set(tipset.key, tipset)
    this.#children.set(tipset.parentKey, tipset)
  }

  get(key: string): Tipset | undefined {
    return this.#tipsets.get(key)
  }

  childOf(key: string): Tipset | undefined {
    return this.#children.get(key)
  }

  /** This tipset is on the branch that is followed now: its siblings are not asked about any more. */
  preferAsChild({ key }: Tipset): void {
    const kept = this.#tipsets.get(key)
    if (kept !== undefined) this.#children.set(kept.parentKey, kept)
  }

  /** An endpoint may not know the child: the next question looks for one on the endpoint's own branch. */
  dropChildOf(key: string): void {
    this.#children.delete(key)
  }
}
