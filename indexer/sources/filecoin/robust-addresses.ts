import { LRUCache } from 'lru-cache'
import { askEveryone, settle } from '../rpc/ask-everyone.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { isTimeOut } from '../rpc/rpc-error.ts'
import { nameOf, rpcCall, type StateCall } from './state-calls.ts'

/** A tipset may name many actors by their number, and each lookup costs the node a walk through all actors. */
const MOST_LOOKUPS = 50
/** So many time-outs of one tipset's lookups, and what is left of them stays unknown. */
const MOST_TIME_OUTS = 2
const MOST_REMEMBERED = 1_000

const UNKNOWN: RpcAnswer = { ok: false, kind: 'other', code: 0, message: 'not looked up' }

/**
 * The actor address of who is named by a number. A node keeps no index of that, so that the question can take longer
 * than any time-out, every time: a name that is only good to have must not hold the chain up.
 */
export class RobustAddresses {
  readonly #client: RpcClient
  /** Keyed by tipset. They outlive a failed read, whatever else made it fail. */
  readonly #timeOuts = new LRUCache<string, number>({ max: MOST_REMEMBERED })

  constructor(client: RpcClient) {
    this.#client = client
  }

  /**
   * Each lookup's outcome, in the questions' order: as {@link askState} tells, or an error where it was given up.
   * Throws a RetryableError when an endpoint fails otherwise than by a time-out, or timed out for the first time.
   */
  async lookUp(questions: readonly { address: string; at: string }[]): Promise<RpcAnswer[]> {
    const counts = new Map<string, number>()
    const isAsked = questions.map(({ at }) => {
      const count = (counts.get(at) ?? 0) + 1
      counts.set(at, count)
      return count <= MOST_LOOKUPS
    })
    const calls = questions.filter((_, index) => isAsked[index]).map(robustCall)
    const answers = calls.length === 0 ? [] : await this.#ask(calls)
    for (const at of counts.keys()) this.#timeOuts.delete(at)
    let next = 0
    return isAsked.map((asked) => (asked ? answers[next++] : undefined) ?? UNKNOWN)
  }

  #ask(calls: readonly StateCall[]): Promise<RpcAnswer[]> {
    return askEveryone(
      this.#client,
      'robust addresses',
      calls,
      (endpoint, open) => this.#askOne(endpoint, open),
      ['pruned', 'unsupported'],
    )
  }

  /** All at once; after a time-out one by one, so that each has the whole time and what is answered is kept. */
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
      const answers = await endpoint.send(batch.map(rpcCall))
      return await settle(this.#client, endpoint, batch.map(nameOf), answers, [
        'revert',
        'pruned',
        'unsupported',
      ])
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
