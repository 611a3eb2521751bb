import { headersAt } from './block-reader.ts'
import type { EvmHeader } from './decode-answer.ts'
import { judgeHeads, type HeadVerdict } from './judge-heads.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

/**
 * A head that has not grown for this long may be that of a node that stopped syncing. Some chains take 15 s per block.
 */
const STILL_AFTER_MS = 20_000
/** Seconds by the wall clock, which may be wrong. An old head only triggers a comparison and decides nothing. */
const OLD_AFTER_S = 60

/**
 * Finds the endpoints that lag behind the chain. A head that stands still or is old triggers a comparison with the
 * other endpoints, in the background. An endpoint is behind when it lacks a block that another had at the last
 * comparison and still has. The client asks it last until it has caught up.
 */
export class Laggards {
  readonly #client: RpcClient
  readonly #look: (endpoint: RpcEndpoint) => Promise<EvmHeader>
  readonly #stillAfterMs: number
  #highest = -1
  #grewAtMs = 0
  #comparedAtMs = -Infinity
  #isComparing = false
  /** Newest head at the last comparison. */
  #newestBefore = -1

  constructor(
    client: RpcClient,
    look: (endpoint: RpcEndpoint) => Promise<EvmHeader>,
    stillAfterMs = STILL_AFTER_MS,
  ) {
    this.#client = client
    this.#look = look
    this.#stillAfterMs = stillAfterMs
  }

  /** Must be called with every head that an endpoint gave. */
  saw(endpoint: RpcEndpoint, head: EvmHeader): void {
    this.#client.apply(endpoint, { type: 'head seen', head: head.number })
    const isSuspect = this.#isOld(head) || this.#client.others().some((other) => this.#isBehind(other))
    const nowMs = performance.now()
    if (!isSuspect || this.#isComparing || nowMs < this.#comparedAtMs + this.#stillAfterMs) return
    this.#comparedAtMs = nowMs
    this.#isComparing = true
    void this.#compare(endpoint, head.number).finally(() => (this.#isComparing = false))
  }

  #isOld({ number, timeS }: EvmHeader): boolean {
    const nowMs = performance.now()
    if (number > this.#highest) {
      this.#highest = number
      this.#grewAtMs = nowMs
    }
    return nowMs >= this.#grewAtMs + this.#stillAfterMs || Date.now() / 1000 - timeS > OLD_AFTER_S
  }

  async #compare(first: RpcEndpoint, head: number): Promise<void> {
    const heads = new Map([[first, head]])
    const others = this.#client.available().filter((endpoint) => endpoint !== first)
    const ask = async (other: RpcEndpoint): Promise<void> => {
      const found = await this.#ask(other, head).catch(() => null)
      if (found !== null) heads.set(other, found)
    }
    await Promise.all(others.map(ask))
    for (const [endpoint, found] of heads) this.#client.apply(endpoint, { type: 'head seen', head: found })
    const found = [...heads].map(([endpoint, head]) => ({
      endpoint,
      head,
      isBehind: this.#isBehind(endpoint),
    }))
    const judged = judgeHeads(found, this.#newestBefore)
    if (judged === null) return
    for (const verdict of judged.verdicts) this.#follow(verdict, judged.newest)
    this.#newestBefore = judged.newest
  }

  #isBehind(endpoint: RpcEndpoint): boolean {
    return this.#client.stateOf(endpoint).behindAt !== null
  }

  #follow({ endpoint, head, verdict }: HeadVerdict<RpcEndpoint>, newest: number): void {
    this.#client.apply(endpoint, { type: 'fell behind', head })
    if (verdict === 'caught up') this.#client.apply(endpoint, { type: 'caught up' })
    if (verdict === 'still behind') return
    this.#client.say(
      verdict === 'caught up'
        ? `${endpoint.label} has caught up: its head is ${head}`
        : `${endpoint.label} is behind: its head ${head} is ${newest - head} below another endpoint’s; it is asked last`,
    )
  }

  /** Ignores failures of endpoints that are already marked as behind. */
  #ask(other: RpcEndpoint, above: number): Promise<number> {
    if (this.#isBehind(other)) return this.#headOf(other, above)
    const excluding = this.#client.others(other)
    return this.#client.read('head', (endpoint) => this.#headOf(endpoint, above), { excluding, attempts: 1 })
  }

  /** Rejects a head whose block `above + 1` is missing: it would stop the reader for good. */
  async #headOf(endpoint: RpcEndpoint, above: number): Promise<number> {
    const { number } = await this.#look(endpoint)
    if (number <= above) return number
    const [next] = await headersAt(endpoint, [above + 1])
    if (next === undefined || next === null)
      throw new BadAnswer(`its head is ${number}, but it has no block ${above + 1}`)
    return number
  }
}
