import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'
import { CallFailed } from './rpc-error.ts'

/** How long one block waits for a second endpoint that does not answer. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 500

/**
 * What a second endpoint says, where one is configured. Some of what one endpoint leaves out shows nowhere else, so a
 * second one that is away for a moment is waited for, and not done without. One that was waited for in vain is given up
 * until it answers again; meanwhile it is looked for beside the reading.
 */
export class Witness {
  readonly #client: RpcClient
  readonly #patienceMs: number
  readonly #givenUp = new Set<RpcEndpoint>()
  #isLookedFor = false

  constructor(client: RpcClient, patienceMs = PATIENCE_MS) {
    this.#client = client
    this.#patienceMs = patienceMs
  }

  /**
   * What another endpoint than `first` gives; null where none is configured, or all others are given up. Where it
   * `isWide`, what is asked for may be why nobody answers: then a CallFailed, and less is to be asked for.
   */
  async ask<T>(
    first: RpcEndpoint,
    task: (second: RpcEndpoint) => Promise<T>,
    { isWide }: { isWide: boolean },
  ): Promise<T | null> {
    const untilMs = performance.now() + this.#patienceMs
    // It has just answered.
    this.#givenUp.delete(first)
    for (;;) {
      const others = this.#client.others(first)
      const expected = others.filter((other) => !this.#givenUp.has(other))
      if (expected.length === 0) {
        if (others.length > 0) void this.#lookFor(first, task)
        return null
      }
      try {
        return await this.#askOneOf(expected, [first, ...this.#givenUp], task)
      } catch (error) {
        if (!(error instanceof RetryableError) || this.#client.closed.aborted) throw error
        const isOver = performance.now() >= untilMs
        if (isOver) this.#giveUp(expected, error)
        else if (isWide)
          throw new CallFailed(`no second endpoint bears out ${first.label}: ${messageOf(error)}`, 'other')
        else await pause(PAUSE_MS, this.#client.closed)
      }
    }
  }

  #askOneOf<T>(
    endpoints: readonly RpcEndpoint[],
    excluding: readonly RpcEndpoint[],
    task: (second: RpcEndpoint) => Promise<T>,
  ): Promise<T> {
    const answering = async (endpoint: RpcEndpoint): Promise<T> => {
      const answer = await task(endpoint)
      this.#givenUp.delete(endpoint)
      return answer
    }
    return this.#client.read('a second answer', answering, { excluding, attempts: endpoints.length })
  }

  #giveUp(endpoints: readonly RpcEndpoint[], error: RetryableError): void {
    for (const endpoint of endpoints) this.#givenUp.add(endpoint)
    this.#client.say(`final blocks are read without a second endpoint until one answers: ${messageOf(error)}`)
  }

  /** One range at a time sees whether somebody is back. */
  async #lookFor(first: RpcEndpoint, task: (second: RpcEndpoint) => Promise<unknown>): Promise<void> {
    if (this.#isLookedFor) return
    this.#isLookedFor = true
    await this.#askOneOf(this.#client.others(first), [first], task).catch(() => undefined)
    this.#isLookedFor = false
  }
}
