import type { Tipset } from './decode-tipset.ts'

/** The newest few tipsets by key, and which one is whose child: what was read once is not asked again. */
export class TipsetMemory {
  readonly #max: number
  readonly #tipsets = new Map<string, Tipset>()
  /** Any child will do: each commits to the same execution of its parents. */
  readonly #children = new Map<string, Tipset>()

  constructor(max: number) {
    this.#max = max
  }

  add(tipset: Tipset): void {
    this.#tipsets.delete(tipset.key)
    this.#tipsets.set(tipset.key, tipset)
    this.#children.set(tipset.parentKey, tipset)
    const [oldest] = this.#tipsets.values()
    if (this.#tipsets.size > this.#max && oldest !== undefined) this.#forget(oldest)
  }

  get(key: string): Tipset | undefined {
    return this.#tipsets.get(key)
  }

  childOf(key: string): Tipset | undefined {
    return this.#children.get(key)
  }

  #forget(tipset: Tipset): void {
    this.#tipsets.delete(tipset.key)
    if (this.#children.get(tipset.parentKey) === tipset) this.#children.delete(tipset.parentKey)
  }
}
