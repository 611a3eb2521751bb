import { LRUCache } from 'lru-cache'
import { askEveryone, type Asking } from '../rpc/ask-everyone.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { isTimeOut } from '../rpc/rpc-error.ts'
import { nameOf, rpcCall, type StateCall } from './state-calls.ts'

/** Lookups per tipset. A tipset may name many actors by ID, and each lookup makes the node walk through all actors. */
const MOST_LOOKUPS = 50
/** Time-outs of one tipset's lookups after which the remaining addresses stay unknown. */
const MOST_TIME_OUTS = 2
const MOST_REMEMBERED = 1_000

/** Stands like a revert: no other endpoint is asked. */
const UNKNOWN: RpcAnswer = { ok: false, kind: 'revert', code: 0, message: 'not looked up' }

/**
 * Finds the actor address of an ID. Nodes have no index for it, so a lookup can exceed every time-out, every time. The
 * address is optional, so it must not hold up the chain.
 */
export class RobustAddresses {
  readonly #client: RpcClient
  /** Time-outs by tipset key. They are kept when a read fails, whatever the reason. */
  readonly #timeOuts = new LRUCache<string, number>({ max: MOST_REMEMBERED })

  constructor(client: RpcClient) {
    this.#client = client
  }

  /**
   * Returns each lookup's outcome in the questions' order: as from `askState`, or an error where the lookup was given
   * up. Throws a RetryableError on a first time-out, or when an endpoint fails in another way.
   */
  async lookUp(questions: readonly { address: string; at: string }[]): Promise<RpcAnswer[]> {
    const counts = new Map<string, number>()
    const isAsked = questions.map(({ at }) => {
      const count = (counts.get(at) ?? 0) + 1
      counts.set(at, count)
      return count <= MOST_LOOKUPS
    })
    const calls = questions.filter((_, index) => isAsked[index]).map(robustCall)
    const asking: Asking<StateCall> = {
      send: (endpoint, open) => this.#askOne(endpoint, open),
      nameOf,
      open: ['pruned', 'unsupported'],
    }
    const answers =
      calls.length === 0 ? [] : await askEveryone(this.#client, 'robust addresses', calls, asking)
    for (const at of counts.keys()) this.#timeOuts.delete(at)
    let next = 0
    return isAsked.map((asked) => (asked ? answers[next++] : undefined) ?? UNKNOWN)
  }

  /**
   * Sends all calls at once. After a time-out it sends them one by one, so that each gets the whole time and answers
   * are kept.
   */
  async #askOne(endpoint: RpcEndpoint, open: readonly StateCall[]): Promise<RpcAnswer[]> {
    const isSlow = open.some(({ at }) => this.#timeOutsOf(at) > 0)
    const answers: RpcAnswer[] = []
    for (const batch of isSlow ? open.map((call) => [call]) : [open]) {
      const isGivenUp = batch.every(({ at }) => this.#timeOutsOf(at) >= MOST_TIME_OUTS)
      answers.push(...(isGivenUp ? batch.map(() => UNKNOWN) : await this.#send(endpoint, batch)))
    }
    return answers
  }

  async #send(endpoint: RpcEndpoint, batch: readonly StateCall[]): Promise<RpcAnswer[]> {
    try {
      return await endpoint.send(batch.map(rpcCall))
    } catch (error) {
      if (!isTimeOut(error)) throw error
      for (const at of new Set(batch.map((call) => call.at))) this.#countTimeOut(at)
      if (batch.some(({ at }) => this.#timeOutsOf(at) < MOST_TIME_OUTS)) throw error
      return batch.map(() => UNKNOWN)
    }
  }

  #timeOutsOf(at: string): number {
    return this.#timeOuts.get(at) ?? 0
  }

  #countTimeOut(at: string): void {
    this.#timeOuts.set(at, this.#timeOutsOf(at) + 1)
  }
}

function robustCall({ address, at }: { address: string; at: string }): StateCall {
  return { method: 'StateLookupRobustAddress', params: [address], at }
}
