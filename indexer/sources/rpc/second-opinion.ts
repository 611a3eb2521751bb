import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { pause } from '../../../shared/async/pause.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'
import { CallFailed } from './rpc-error.ts'

/** How long one range waits for a second endpoint that does not answer. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 500

/**
 * - agreed: two endpoints gave the same answer
 * - alone: no second endpoint is configured, or all others are given up
 * - contradicted: both were asked twice and gave different answers
 */
export type Opinion<T> =
  | { is: 'agreed'; answer: T; other: T }
  | { is: 'alone'; answer: T }
  | { is: 'contradicted'; answer: T; other: T }

export interface Question<T> {
  /** Reads the same data from any endpoint. */
  readOn: (endpoint: RpcEndpoint) => Promise<T>
  /** Reads it again from the first endpoint; `readOn` by default. */
  readAgain?: () => Promise<T>
  isSame: (left: T, right: T) => boolean
  /** The question covers several blocks, so a narrower one may be answered. */
  isWide: boolean
}

/**
 * Compares an answer with a second endpoint's, if one is configured. Some omissions of one endpoint show nowhere else,
 * so a second one that is briefly away is awaited. It is given up after a wait in vain, until it answers again.
 * Meanwhile a background request checks whether it is back.
 */
export class SecondOpinion {
  readonly #client: RpcClient
  readonly #patienceMs: number
  #isLookedFor = false

  constructor(client: RpcClient, patienceMs = PATIENCE_MS) {
    this.#client = client
    this.#patienceMs = patienceMs
  }

  /** Throws a CallFailed when no endpoint confirms a wide answer, or none is left after a contradiction. */
  async on<T extends { endpoint: RpcEndpoint }>(answer: T, question: Question<T>): Promise<Opinion<T>> {
    const { readOn, isSame } = question
    const first = answer.endpoint
    const other = await this.#ask(first, question)
    if (other === null) return { is: 'alone', answer }
    if (isSame(answer, other)) return { is: 'agreed', answer, other }
    const again = await (question.readAgain?.() ?? readOn(first))
    if (isSame(again, other)) return { is: 'agreed', answer: again, other }
    const otherAgain = await this.#ask(first, question)
    if (otherAgain === null) throw new CallFailed('nobody is left to bear out what was contradicted', 'other')
    if (isSame(again, otherAgain)) return { is: 'agreed', answer: again, other: otherAgain }
    this.#client.noteDisagreement(first, otherAgain.endpoint)
    return { is: 'contradicted', answer: again, other: otherAgain }
  }

  /** Returns another endpoint's answer; null when no endpoint is worth waiting for. */
  async #ask<T>(
    first: RpcEndpoint,
    { readOn, isWide }: Pick<Question<T>, 'readOn' | 'isWide'>,
  ): Promise<T | null> {
    const untilMs = performance.now() + this.#patienceMs
    this.#client.apply(first, { type: 'responded', wait: 'opinion' })
    for (;;) {
      const expected = this.#client.awaited('opinion', [first])
      if (expected.length === 0) {
        if (this.#client.others(first).length > 0) void this.#lookFor(first, readOn)
        return null
      }
      try {
        const excluding = this.#client.others(...expected)
        return await this.#askOneOf(expected, [first, ...excluding], readOn)
      } catch (error) {
        if (!(error instanceof RetryableError) || this.#client.closed.aborted) throw error
        const isOver = performance.now() >= untilMs
        const message = `final blocks are read without a second endpoint until one answers: ${messageOf(error)}`
        if (isOver) this.#client.giveUp('opinion', expected, message)
        else if (isWide)
          throw new CallFailed(`no second endpoint bears out ${first.label}: ${messageOf(error)}`, 'other')
        else await pause(PAUSE_MS, this.#client.closed)
      }
    }
  }

  #askOneOf<T>(
    endpoints: readonly RpcEndpoint[],
    excluding: readonly RpcEndpoint[],
    readOn: (endpoint: RpcEndpoint) => Promise<T>,
  ): Promise<T> {
    const answering = async (endpoint: RpcEndpoint): Promise<T> => {
      const answer = await readOn(endpoint)
      this.#client.apply(endpoint, { type: 'responded', wait: 'opinion' })
      return answer
    }
    return this.#client.read('a second answer', answering, { excluding, attempts: endpoints.length })
  }

  /** One range at a time checks whether another endpoint is back. */
  async #lookFor(first: RpcEndpoint, readOn: (endpoint: RpcEndpoint) => Promise<unknown>): Promise<void> {
    if (this.#isLookedFor) return
    this.#isLookedFor = true
    await this.#askOneOf(this.#client.others(first), [first], readOn).catch(() => undefined)
    this.#isLookedFor = false
  }
}
