import { LRUCache } from 'lru-cache'
import { RetryableError } from '../../../shared/errors.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { viewAll, viewLatest } from './ask-all.ts'
import { parseHex } from './hex.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'

const DECIMALS_SELECTOR = '0x313ce567'
/** Most bytes of an answer that is kept. A number takes 32; longer answers give no decimals. */
const LONGEST_ANSWER = 128
const MAX_TOKENS = 10_000
/** ERC-20 declares `decimals()` as a uint8. */
const MAX_DECIMALS = 255n

/** A token and the block in which it was first seen, at which its decimals are read. */
export interface TokenSeen {
  /** Checksummed. */
  token: string
  block: BlockRef
}

type Missing = readonly [token: string, block: BlockRef]

/** Endpoints that were asked, at the tokens' blocks and at the newest state. */
interface Asked {
  ofBlock: Set<RpcEndpoint>
  ofLatest: Set<RpcEndpoint>
}

/**
 * Reads and remembers each token's `decimals()`; null for a token that gives none, or more than 255. A missing answer
 * is asked twice, because a null stays in the log.
 */
export class TokenDecimals {
  readonly #client: RpcClient
  readonly #known = new LRUCache<string, { decimals: number | null }>({ max: MAX_TOKENS })

  constructor(client: RpcClient) {
    this.#client = client
  }

  /** Returns the decimals of all these tokens. Throws a RetryableError when no endpoint answers. */
  async of(seen: readonly TokenSeen[]): Promise<ReadonlyMap<string, number | null>> {
    const found = new Map<string, number | null>()
    const missing = new Map<string, BlockRef>()
    for (const { token, block } of seen) {
      const known = this.#known.get(token)
      if (known !== undefined) found.set(token, known.decimals)
      else if (!missing.has(token)) missing.set(token, block)
    }
    if (missing.size === 0) return found
    const tokens = [...missing]
    const asked = nobody()
    const answers = await this.#ask(tokens, asked)
    const doubted = tokens.filter((_, index) => isDoubted(answers[index]))
    const again = doubted.length === 0 ? [] : await this.#askAgain(doubted, asked)
    for (const [index, [token]] of tokens.entries()) {
      const answer = isDoubted(answers[index]) ? again.shift() : answers[index]
      if (answer === undefined) continue
      const decimals = decimalsIn(answer)
      found.set(token, decimals)
      if (isForGood(answer)) this.#known.set(token, { decimals })
    }
    return found
  }

  /** Asks another endpoint than the first time, or any endpoint when no other answers. */
  async #askAgain(tokens: readonly Missing[], asked: Asked): Promise<RpcAnswer[]> {
    try {
      const answers = await this.#ask(tokens, asked)
      if (answers.every((answer) => answer.ok || answer.kind !== 'other')) return answers
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error
    }
    return this.#ask(tokens, nobody())
  }

  /**
   * Answers are in the tokens' order. Decimals do not change, so the newest state serves when the block's own is
   * pruned.
   */
  async #ask(tokens: readonly Missing[], asked: Asked): Promise<RpcAnswer[]> {
    const calls = tokens.map(([to, block]) => ({
      to,
      data: DECIMALS_SELECTOR,
      block,
      longest: LONGEST_ANSWER,
    }))
    const answers = await viewAll(this.#client, 'token decimals', calls, asked.ofBlock)
    const late = calls.filter((_, index) => isPruned(answers[index]))
    if (late.length === 0) return answers
    const latest = await viewLatest(this.#client, 'token decimals', late, asked.ofLatest)
    return answers.map((answer) => (isPruned(answer) ? (latest.shift() ?? answer) : answer))
  }
}

function nobody(): Asked {
  return { ofBlock: new Set(), ofLatest: new Set() }
}

/**
 * The answer has neither decimals nor another number. A node that uses the state before the token's deployment answers
 * the same.
 */
function isDoubted(answer: RpcAnswer | undefined): boolean {
  if (answer === undefined) return false
  return answer.ok ? parseHex(answer.result, 32) === null : answer.kind === 'revert'
}

/** An empty answer is not kept, because a token may be deployed there later. */
function isForGood(answer: RpcAnswer): boolean {
  if (!answer.ok) return answer.kind === 'revert' || answer.kind === 'too-large'
  return (parseHex(answer.result) ?? '0x') !== '0x'
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
