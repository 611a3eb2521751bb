import type { RpcEndpoint } from '../../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../../rpc/rpc-error.ts'
import { decodeHeader, type EvmHeader } from '../decode-answer.ts'

/** The hashes and roots that a chain may compute by Ethereum's rules. Some chains follow for one and not for another. */
const RULES = ['headers', 'receipts', 'transactions'] as const
export type ChainRule = (typeof RULES)[number]

/**
 * Rules that a chain is known to follow, or never to: false is set by an operator alone. A number is the first block that is
 * known to follow, where an older one was never seen to: some chains changed their headers at a fork.
 */
export type KnownRules = Partial<Record<ChainRule, boolean | number>>

interface ShownBlock {
  number: number
  hash: string
}

const BROKEN: Record<ChainRule, string> = {
  headers: 'its header does not hash to its hash',
  receipts: 'its receipts do not have the root in its header',
  transactions: 'its transactions do not have the root in its header',
}

/**
 * The rules that one chain follows. A rule that held once holds from there on, whatever endpoints say later: an answer
 * that breaks it is a lie. A rule that never held proves nothing. The roots are judged where the header follows.
 *
 * One endpoint can make up a block that holds to any rule. If there are several, another one must name the block's hash
 * before the rule counts.
 */
export class ChainRules {
  readonly #known: KnownRules = {}
  /** The first block that is read. */
  readonly #lowest: number
  readonly #onKnown: (rule: ChainRule, follows: boolean) => void
  readonly #unproven = new Set<ChainRule>()
  /** The last block by which each endpoint showed a rule. */
  readonly #shown = new Map<RpcEndpoint, Map<ChainRule, ShownBlock>>()
  #endpoints = 1

  /** `onKnown` hears once of each rule that it held, or did not. */
  constructor(onKnown: (rule: ChainRule, follows: boolean) => void = () => undefined, lowest = 0) {
    this.#onKnown = onKnown
    this.#lowest = lowest
  }

  get known(): KnownRules {
    return { ...this.#known }
  }

  /** Takes over what was known before a restart. */
  believe(known: KnownRules): void {
    for (const rule of RULES) if (known[rule] !== undefined) this.#known[rule] = known[rule]
  }

  /**
   * Notes whether a block held to a rule and returns it. Throws a BadAnswer when the block broke a rule that the chain is
   * known to follow.
   */
  judge(
    rule: ChainRule,
    holds: boolean,
    { number, hash }: ShownBlock,
    endpoint: RpcEndpoint | null = null,
  ): boolean {
    const known = this.#known[rule]
    if (holds) this.#show(rule, { number, hash }, endpoint)
    if (holds || known === false) return holds
    if (known === true || (known !== undefined && number >= known))
      throw new BadAnswer(`block ${number} (${hash}): ${BROKEN[rule]}`)
    // A chain without headers that hash is a reason to be told of once more: at the start, when all were asked.
    if (rule !== 'headers' && !this.#unproven.has(rule)) this.#onKnown(rule, false)
    this.#unproven.add(rule)
    return false
  }

  /** Judges answers of this many endpoints. */
  expect(endpoints: number): void {
    this.#endpoints = endpoints
  }

  /** Notes that an endpoint names this block, by which another one may have shown a rule. */
  name(endpoint: RpcEndpoint, { hash }: ShownBlock): void {
    for (const [rule, block] of this.#shownBesides(endpoint))
      if (block.hash === hash) this.#learn(rule, block.number)
  }

  /** Returns the blocks that this endpoint must name before a rule that another one showed by them counts. */
  openFor(endpoint: RpcEndpoint): number[] {
    return [...new Set(this.#shownBesides(endpoint).map(([, { number }]) => number))]
  }

  /** Whether one endpoint alone showed this rule. */
  isShown(rule: ChainRule): boolean {
    return [...this.#shown.values()].some((blocks) => blocks.has(rule))
  }

  #show(rule: ChainRule, block: ShownBlock, endpoint: RpcEndpoint | null): void {
    if (!this.#teaches(rule, block.number)) return
    if (endpoint === null || this.#endpoints < 2) return this.#learn(rule, block.number)
    const blocks = this.#shown.get(endpoint) ?? new Map<ChainRule, ShownBlock>()
    this.#shown.set(endpoint, blocks.set(rule, block))
  }

  #shownBesides(endpoint: RpcEndpoint): [ChainRule, ShownBlock][] {
    return [...this.#shown]
      .filter(([other]) => other !== endpoint)
      .flatMap(([, blocks]) => [...blocks])
      .filter(([rule, { number }]) => this.#teaches(rule, number))
  }

  #teaches(rule: ChainRule, number: number): boolean {
    const known = this.#known[rule]
    return known === undefined || (typeof known === 'number' && number < known)
  }

  /** A header shows the rule for the blocks above it alone; a lower one extends it. */
  #learn(rule: ChainRule, number: number): void {
    if (!this.#teaches(rule, number)) return
    const known = this.#known[rule]
    this.#known[rule] = rule === 'headers' && number > this.#lowest ? number : true
    if (known === undefined) this.#onKnown(rule, true)
  }
}

const rulesOf = new WeakMap<RpcEndpoint, ChainRules>()

/** Judges all answers of these endpoints by the rules of their chain. */
export function holdTo(rules: ChainRules, endpoints: readonly RpcEndpoint[]): void {
  rules.expect(endpoints.length)
  for (const endpoint of endpoints) rulesOf.set(endpoint, rules)
}

/** Returns the rules of the endpoint's chain; none are known of an endpoint that is held to none. */
export function chainRulesOf(endpoint: RpcEndpoint): ChainRules {
  return rulesOf.get(endpoint) ?? new ChainRules()
}

/**
 * Returns an endpoint's header; null when it knows no such block. Throws a BadAnswer for a malformed one, and for one
 * that does not hash to its hash on a chain where all do.
 */
export function headerOf(endpoint: RpcEndpoint, value: unknown): EvmHeader | null {
  const header = decodeHeader(value)
  if (header === null) return null
  const rules = chainRulesOf(endpoint)
  rules.judge('headers', header.roots !== null, header, endpoint)
  rules.name(endpoint, header)
  return header
}
