import { LRUCache } from 'lru-cache'
import type { Tipset } from './decode-tipset.ts'

/** The tipsets read last, by key, and their children. */
export class TipsetMemory {
  readonly #tipsets: LRUCache<string, Tipset>
  /**
   * Any child will do, because each commits to the same execution of its parents. An endpoint may lack a child that is
   * on no branch any more, so the branch walked last decides.
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

  /** Marks the tipset as part of the current branch, so that its siblings are no longer used as the child. */
  preferAsChild({ key }: Tipset): void {
    const kept = this.#tipsets.get(key)
    if (kept !== undefined) this.#children.set(kept.parentKey, kept)
  }

  /** Forgets a child that an endpoint may not know; the next question finds one on the endpoint's own branch. */
  dropChildOf(key: string): void {
    this.#children.delete(key)
  }
}
