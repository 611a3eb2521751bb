import { LRUCache } from 'lru-cache'
import { RetryableError } from '../../../shared/errors.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { viewAll, viewLatest } from './ask-all.ts'
import { parseHex } from './hex.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'

const DECIMALS_SELECTOR = '0x313ce567'
/** Bytes. A number takes 32; some tokens return more, which tells no decimals. */
const LONGEST_ANSWER = 128
const MAX_TOKENS = 10_000
/** decimals() is a uint8 by its standard. */
const MAX_DECIMALS = 255n

/** The block in which a token was seen first: its decimals are read as of that block. */
export interface TokenSeen {
  /** Checksummed. */
  token: string
  block: BlockRef
}

type Missing = readonly [token: string, block: BlockRef]

/** Who was asked as of the tokens' blocks, and who in the newest state. */
interface Asked {
  ofBlock: Set<RpcEndpoint>
  ofLatest: Set<RpcEndpoint>
}

/**
 * Each token's `decimals()`, remembered once it was read; null for a token that tells none, or absurd ones. That it
 * tells none is asked twice: a null stays in the log.
 */
export class TokenDecimals {
  readonly #client: RpcClient
  readonly #known = new LRUCache<string, { decimals: number | null }>({ max: MAX_TOKENS })

  constructor(client: RpcClient) {
    this.#client = client
  }

  /** The decimals of all these tokens. Throws a RetryableError when no endpoint answers. */
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

  /** By another endpoint than the first time; where no other answers, by whoever does. */
  async #askAgain(tokens: readonly Missing[], asked: Asked): Promise<RpcAnswer[]> {
    try {
      const answers = await this.#ask(tokens, asked)
      if (answers.every((answer) => answer.ok || answer.kind !== 'other')) return answers
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error
    }
    return this.#ask(tokens, nobody())
  }

  /** In the tokens' order. Decimals do not change, so the newest state is as good where the block's own is gone. */
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
 * No decimals in it, and no other number either: so a node answers as well that answers with the state of a block
 * before the token was deployed.
 */
function isDoubted(answer: RpcAnswer | undefined): boolean {
  if (answer === undefined) return false
  return answer.ok ? parseHex(answer.result, 32) === null : answer.kind === 'revert'
}

/** Not where nothing was said: there may be a token one day. */
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
