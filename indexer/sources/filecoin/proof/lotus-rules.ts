/** Whether headers hash to their CIDs, and have the roots of receipts and messages as this service computes them. */
const RULES = ['headers', 'receipts', 'messages'] as const
type LotusRule = (typeof RULES)[number]

/**
 * The rules that one Filecoin chain is known to follow: true once an answer held to it, false if an operator gave it up. A
 * chain without headers that hash was never seen. Receipts and messages of hashed headers must therefore follow from the first.
 */
export class LotusRules {
  readonly #known: Partial<Record<LotusRule, boolean>> = {}

  get known(): Readonly<Partial<Record<LotusRule, boolean>>> {
    return { ...this.#known }
  }

  /** Takes over what was known before a restart. */
  believe(known: Readonly<Partial<Record<string, boolean | number>>>): void {
    for (const rule of RULES) {
      const value = known[rule]
      // A number is of an EVM chain.
      if (typeof value === 'boolean') this.#known[rule] = value
    }
  }

  /** Notes that an answer held to a rule. */
  held(rule: LotusRule): void {
    this.#known[rule] ??= true
  }
}
