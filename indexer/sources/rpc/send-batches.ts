import { AnswerTooLarge, CallFailed, EndpointFault, RateLimited } from './rpc-error.ts'
import type { NoAnswers } from './json-rpc-codec.ts'
import type { Exchange, RpcAnswer, RpcCall } from './rpc-call.ts'
import type { RateGovernor } from './rate-governor.ts'
import { isSameError, type SaidAlone } from './said-alone.ts'

export type BatchReply = Exchange | NoAnswers

export interface BatchLink {
  governor: RateGovernor
  /** Sends one HTTP request. Throws EndpointFault and RateLimited. */
  attempt: (batch: RpcCall[]) => Promise<BatchReply>
  alone: SaidAlone
  isClosed: () => boolean
}

export interface BatchOptions {
  /** Most "slow down" answers in a row that are waited out. */
  rateRetries?: number | undefined
  /** Most bytes of the answers of all batches together. */
  mostBytes?: number
}

type Refusal = RpcAnswer & { ok: false }
type Take<T> = (answer: RpcAnswer, index: number) => T

/** Retries of one request, after a "slow down" and after a fault, before the caller gets the error. */
const RATE_RETRIES = 3
const FAULT_RETRIES = 2

/**
 * Sends calls in batches as large as the endpoint takes. Providers refuse a batch in any words, in whole or call by
 * call, so an error in a batch is no answer. The first such call is asked again alone. If it succeeds, the batch was
 * too large. If it fails in the same words, they answer it and all calls that got them.
 */
export class BatchRun<T> {
  readonly #link: BatchLink
  readonly #calls: readonly RpcCall[]
  readonly #take: Take<T>
  readonly #options: BatchOptions
  readonly #taken: T[] = []
  #open: number[]
  /** The next request is a single call: the batch failed, but its size may not be the reason. */
  #isProbing = false
  /** Refused batches since one was answered in whole, and the size of the newest. */
  #refusals = 0
  #refusedSize = 0
  /** Calls that were answered before all others of a batch were refused; 0 for any other refusal. */
  #took = 0
  /** Errors in the newest batch, by call index. */
  #errors = new Map<number, Refusal>()
  #rates = 0
  #bytes = 0
  /** Most calls in a batch; halved after answers that were too large together. */
  #mostCalls: number
  #faults = 0

  constructor(link: BatchLink, calls: readonly RpcCall[], take: Take<T>, options: BatchOptions = {}) {
    this.#link = link
    this.#calls = calls
    this.#take = take
    this.#options = options
    this.#open = calls.map((_, index) => index)
    this.#mostCalls = calls.length
  }

  /** Returns the results of `take`, in the calls' order. */
  async run(): Promise<T[]> {
    const { governor, attempt } = this.#link
    while (this.#open.length > 0) {
      const asked = this.#open.slice(0, this.#isProbing ? 1 : Math.min(this.#mostCalls, governor.batch))
      const batch = asked.flatMap((index) => this.#calls[index] ?? [])
      const reply = await attempt(batch).catch((error: unknown) => this.#failed(error, asked.length))
      if (reply === undefined) continue
      if (typeof reply === 'string') {
        this.#refused(asked.length, reply)
        continue
      }
      this.#countBytes(reply)
      if (asked.length > 1) this.#readBatch(asked, reply)
      else this.#readOne(asked[0] ?? 0, reply)
    }
    return this.#taken
  }

  #countBytes({ bytes }: Exchange): void {
    const { mostBytes = Infinity } = this.#options
    this.#mostCalls = Math.min(this.#calls.length, this.#mostCalls * 2)
    this.#bytes += bytes
    if (this.#bytes <= mostBytes) return
    const calls = this.#calls.length
    throw new CallFailed(`the answers to ${calls} calls have more than ${mostBytes} bytes`, 'too-large')
  }

  #refused(size: number, reply: NoAnswers): void {
    this.#countRefusal(size)
    this.#isProbing = reply === 'unclear'
    if (!this.#isProbing) this.#link.governor.batchRefused(size)
  }

  #readBatch(asked: readonly number[], reply: Exchange): void {
    const { alone, governor } = this.#link
    const errors = new Map<number, Refusal>()
    for (const [at, index] of asked.entries()) {
      const answer = reply.answers[at]
      const isAnswer =
        answer?.ok === true || answer?.kind === 'revert' || alone.has(this.#calls[index], answer)
      if (isAnswer) this.#accept(index, answer)
      else errors.set(index, answer ?? NO_ANSWER)
    }
    if (errors.size === 0) {
      this.#refusals = 0
      governor.batchTaken(asked.length)
      return
    }
    this.#countRefusal(asked.length)
    const isTail = asked.slice(-errors.size).every((index) => errors.has(index))
    this.#took = isTail && errors.size > 1 ? asked.length - errors.size : 0
    this.#errors = errors
    this.#isProbing = true
    if ([...errors.values()].some(({ kind }) => kind === 'rate')) governor.slowDown(null)
  }

  #readOne(index: number, reply: Exchange): void {
    const { alone, governor } = this.#link
    const [answer] = reply.answers
    this.#accept(index, answer)
    if (!this.#isProbing) {
      governor.batchTaken(1)
      return
    }
    this.#isProbing = false
    const inBatch = this.#errors.get(index)
    if (answer?.ok !== false || inBatch === undefined || !isSameError(answer, inBatch)) {
      if (this.#took > 0) governor.batchRefused(this.#refusedSize, this.#took)
      else governor.batchDoubted(this.#refusedSize)
      return
    }
    alone.add(this.#calls[index], answer)
    for (const [other, error] of this.#errors)
      if (other !== index && isSameError(error, answer)) this.#accept(other, error)
  }

  #accept(index: number, answer: RpcAnswer | undefined): void {
    this.#taken[index] = this.#take(answer ?? NO_ANSWER, index)
    this.#open = this.#open.filter((other) => other !== index)
    this.#rates = 0
    this.#faults = 0
  }

  /** Throws the errors that the caller must handle. */
  #failed(error: unknown, size: number): void {
    const { governor, isClosed } = this.#link
    const { rateRetries = RATE_RETRIES } = this.#options
    if (error instanceof AnswerTooLarge && size > 1) {
      this.#mostCalls = Math.floor(size / 2)
      return
    }
    if (error instanceof RateLimited) {
      this.#rates += 1
      if (this.#rates > rateRetries || !governor.isPauseShort) throw error
      if (size === 1) return
      this.#countRefusal(size)
      // The first may be about the pace, a second one in a row about the size.
      this.#isProbing = this.#refusals > 1
      return
    }
    if (!(error instanceof EndpointFault) || isClosed()) throw error
    this.#faults += 1
    if (this.#open.length === this.#calls.length || this.#faults > FAULT_RETRIES) throw error
  }

  #countRefusal(size: number): void {
    this.#refusals += 1
    this.#refusedSize = size
    this.#took = 0
    this.#errors = new Map()
  }
}

const NO_ANSWER: Refusal = { ok: false, kind: 'other', code: 0, message: 'no answer' }
