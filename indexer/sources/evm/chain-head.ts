import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { headersAt } from './block-reader.ts'
import type { EvmHeader } from './decode-answer.ts'
import { headerOf } from './proof/chain-rules.ts'
import type { RpcClient, Report } from '../rpc/rpc-client.ts'
import { quantity } from './hex.ts'
import { Laggards } from './laggards.ts'
import { requireStart } from '../require-start.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed, ContradictsFinal } from '../rpc/rpc-error.ts'

/** Blocks this far behind the head count as final when no node gives a finalized block. */
const FALLBACK_DEPTH = 256
/**
 * Distance to the head from which a final block known before a restart permits the fallback. That block came from the
 * fallback, or is very old. If it is nearer, a restarted node may be about to give a finalized block.
 */
const FALLEN_BEHIND = 4 * FALLBACK_DEPTH
/** The attempt from which any refusal of the `finalized` tag counts as "no such tag". */
const LAST_ATTEMPT = 3

/** Makes the client try another endpoint, which may give a finalized block. */
class NoneFinalHere extends CallFailed {
  override name = 'NoneFinalHere'
  constructor() {
    super('no finalized block', 'missing-block')
  }
}

/** Head and finality of one chain. Endpoints that contradict a final block are not believed. */
export class ChainHead {
  readonly #client: RpcClient
  readonly #confirmations: number
  readonly #startBlock: number
  readonly #report: Report
  readonly #laggards: Laggards
  #final: BlockRef | null = null
  #saidFallback = false
  /** A node gave a finalized block. The known final block is then preferred to one behind the head. */
  #isTold = false
  #isFallback = false

  /** `stillAfterMs` is the time after which a head that has not grown is compared with the others'. */
  constructor(
    client: RpcClient,
    { confirmations, startBlock }: { confirmations: number; startBlock: number },
    report: Report,
    stillAfterMs?: number,
  ) {
    this.#client = client
    this.#confirmations = confirmations
    this.#startBlock = startBlock
    this.#report = report
    this.#laggards = new Laggards(client, (endpoint) => this.#latest(endpoint), stillAfterMs)
  }

  believeFinal(block: BlockRef): void {
    if (this.#final === null || block.number >= this.#final.number) this.#final = block
  }

  /** One batch asks for both headers: when answered by height, they are of one branch. */
  finalHeader(final: BlockRef, number: number): Promise<EvmHeader> {
    return this.#client.read(`block ${number}`, async (endpoint) => {
      const [header, shown] = await headersAt(endpoint, [number, final.number])
      if (header === undefined || header === null || shown === undefined || shown === null)
        throw new CallFailed(`block ${number} or ${final.number} is not known`, 'missing-block')
      if (shown.hash !== final.hash) throw contradiction(final, shown.hash)
      return header
    })
  }

  /**
   * Returns the newest block to index: the configured confirmations behind the head of an endpoint that keeps up.
   * Throws a RetryableError while no endpoint has reached `startBlock`.
   */
  head(): Promise<EvmHeader> {
    return this.#client.read('head', async (endpoint) => {
      const latest = await this.#latest(endpoint)
      this.#laggards.saw(endpoint, latest)
      requireStart({ head: latest.number, behind: this.#confirmations }, 'startBlock', this.#startBlock)
      if (this.#confirmations === 0) return latest
      const [header] = await headersAt(endpoint, [Math.max(0, latest.number - this.#confirmations)])
      if (header === undefined || header === null)
        throw new CallFailed('no block below the head', 'missing-block')
      return header
    })
  }

  /** Returns the newest final block, or null while there is none. It is never older than a block known to be final. */
  async finalized(): Promise<BlockRef | null> {
    const found = await this.#client.read('finalized block', async (endpoint, attempt) => {
      try {
        const header = await this.#tagged(endpoint, 'finalized')
        if (header === null || header.number === 0) return await this.#whileNoneIs(endpoint, attempt, header)
        this.#isTold = true
        return header
      } catch (error) {
        if (!(error instanceof CallFailed) || error instanceof NoneFinalHere) throw error
        if (error.kind === 'missing-block') return this.#whileNoneIs(endpoint, attempt, null)
        if (error.kind === 'other' && attempt < LAST_ATTEMPT) throw error
        return this.#behindHead(endpoint, 'has no finalized tag')
      }
    })
    if (found === null || (this.#final !== null && found.number <= this.#final.number)) return this.#final
    return { number: found.number, hash: found.hash }
  }

  /**
   * The node knows the tag but gives no block, or block 0 (`said`): it is syncing, or its chain never finalizes. If no
   * node ever gave one, blocks behind the head count as final. Otherwise nothing would become final, and all headers
   * would be kept.
   */
  async #whileNoneIs(
    endpoint: RpcEndpoint,
    attempt: number,
    said: EvmHeader | null,
  ): Promise<EvmHeader | null> {
    if (this.#isTold) return said
    if (!this.#isFallback && attempt <= this.#client.others(endpoint).length) throw new NoneFinalHere()
    const found = await this.#behindHead(endpoint, 'tells no finalized block')
    if (found === null) return said
    const known = this.#final?.number
    // A fallback that has begun goes on, whatever the distance.
    const isNear = known !== undefined && found.number < known + FALLEN_BEHIND - FALLBACK_DEPTH
    if (!this.#isFallback && isNear) return said
    this.#isFallback = true
    return found
  }

  async #behindHead(endpoint: RpcEndpoint, why: string): Promise<EvmHeader | null> {
    const latest = await this.#tagged(endpoint, 'latest')
    if (latest === null || latest.number < FALLBACK_DEPTH) return null
    if (!this.#saidFallback) {
      this.#saidFallback = true
      this.#report(
        'warn',
        `${endpoint.label} ${why}: blocks ${FALLBACK_DEPTH} behind the head count as final`,
      )
    }
    const [header] = await headersAt(endpoint, [latest.number - FALLBACK_DEPTH])
    return header ?? null
  }

  async #latest(endpoint: RpcEndpoint): Promise<EvmHeader> {
    const latest = await this.#tagged(endpoint, 'latest')
    if (latest === null) throw new CallFailed('no head', 'missing-block')
    return latest
  }

  /**
   * Reads the block of a tag and verifies in the same batch that the endpoint has the final block. Throws a
   * ContradictsFinal when it does not.
   */
  async #tagged(endpoint: RpcEndpoint, tag: 'latest' | 'finalized'): Promise<EvmHeader | null> {
    const known = this.#final
    const calls: RpcCall[] = [{ method: 'eth_getBlockByNumber', params: [tag, false] }]
    if (known !== null)
      calls.push({ method: 'eth_getBlockByNumber', params: [quantity(known.number), false] })
    const answers = await endpoint.send(calls)
    const header = headerOf(endpoint, endpoint.resultOf(tag, answers[0]))
    if (known === null) return header
    if (tag === 'latest' && header !== null && header.number < known.number) {
      throw new ContradictsFinal(`its head ${header.number} is below block ${known.number}, which is final`)
    }
    if (header?.number === known.number && header.hash !== known.hash) throw contradiction(known, header.hash)
    checkFinal(endpoint, known, answers[1])
    return header
  }
}

/** A node that no longer has the block proves nothing about it. */
function checkFinal(endpoint: RpcEndpoint, known: BlockRef, answer: RpcAnswer | undefined): void {
  if (answer === undefined || !answer.ok) return
  const header = headerOf(endpoint, answer.result)
  if (header !== null && header.hash !== known.hash) throw contradiction(known, header.hash)
}

function contradiction(known: BlockRef, found: string): ContradictsFinal {
  return new ContradictsFinal(`block ${known.number} is ${found} there, but ${known.hash} is final`)
}
