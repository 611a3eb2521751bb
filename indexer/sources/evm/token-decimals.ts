import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { viewAll, viewLatest } from './ask-all.ts'
import { parseHex } from './hex.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer } from '../rpc/rpc-endpoint.ts'

const DECIMALS_SELECTOR = '0x313ce567'
const MAX_TOKENS = 10_000
/** decimals() is a uint8 by its standard. */
const MAX_DECIMALS = 255n

/** Where a token was seen first: its decimals are read as of that block. */
export interface TokenSeen {
  /** Checksummed. */
  token: string
  block: BlockRef
}

/** Each token's `decimals()`, remembered once it was read; null for a token that tells none, or absurd ones. */
export class TokenDecimals {
  readonly #client: RpcClient
  readonly #known = new Map<string, number | null>()

  constructor(client: RpcClient) {
    this.#client = client
  }

  /** The decimals of all these tokens. Throws a RetryableError when no endpoint answers. */
  async of(seen: readonly TokenSeen[]): Promise<ReadonlyMap<string, number | null>> {
    const found = new Map<string, number | null>()
    const missing = new Map<string, BlockRef>()
    for (const { token, block } of seen) {
      const known = this.#known.get(token)
      if (known !== undefined) found.set(token, known)
      else if (!missing.has(token)) missing.set(token, block)
    }
    if (missing.size === 0) return found
    for (const [token, answer] of await this.#ask(missing)) {
      const decimals = decimalsIn(answer)
      found.set(token, decimals)
      if (answer.ok || answer.kind === 'revert') this.#remember(token, decimals)
    }
    return found
  }

  async #ask(missing: ReadonlyMap<string, BlockRef>): Promise<[string, RpcAnswer][]> {
    const tokens = [...missing]
    const calls = tokens.map(([to, block]) => ({ to, data: DECIMALS_SELECTOR, block }))
    const answers = await viewAll(this.#client, 'token decimals', calls)
    const late = tokens.filter((_, index) => isPruned(answers[index])).map(([token]) => token)
    const latest = late.length === 0 ? [] : await this.#askLatest(late)
    return tokens.flatMap(([token], index) => {
      const answer = isPruned(answers[index]) ? latest.shift() : answers[index]
      return answer === undefined ? [] : [[token, answer]]
    })
  }

  /** Decimals do not change, so the newest state is as good where the block's own is gone. */
  #askLatest(tokens: readonly string[]): Promise<RpcAnswer[]> {
    const calls = tokens.map((to) => ({ to, data: DECIMALS_SELECTOR }))
    return viewLatest(this.#client, 'token decimals', calls)
  }

  #remember(token: string, decimals: number | null): void {
    if (this.#known.size >= MAX_TOKENS) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    this.#known.set(token, decimals)
  }
}

function isPruned(answer: RpcAnswer | undefined): boolean {
  return answer !== undefined && !answer.ok && answer.kind === 'pruned'
}

function decimalsIn(answer: RpcAnswer): number | null {
  const word = answer.ok ? parseHex(answer.result, 32) : null
  if (word === null) return null
  const decimals = BigInt(word)
  return decimals > MAX_DECIMALS ? null : Number(decimals)
}
