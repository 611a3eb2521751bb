import pLimit from 'p-limit'
import { endpointLabel } from '../../../shared/log.ts'
import { createRedactor, secretsInUrl } from '../../../shared/secrets.ts'
import { RangeWidth } from '../block-ranges.ts'
import { ownTurn } from '../../../shared/async/turns.ts'
import { largestAnswer, limitOf, type AnswerLimits } from './answer-limits.ts'
import { requestFailureOf, type RequestFailure } from './endpoint-watch.ts'
import { undiciPost, type HttpPost } from './http-post.ts'
import { checkStatus, JsonRpcCodec, requestText, type CodecOptions } from './json-rpc-codec.ts'
import { RateGovernor, type GovernorLimits } from './rate-governor.ts'
import { BodyRoom } from './read-body.ts'
import type { RpcAnswer, RpcCall } from './rpc-call.ts'
import { AnswerTooLarge, CallFailed, EndpointFault, RateLimited } from './rpc-error.ts'
import { SaidAlone } from './said-alone.ts'
import { BatchRun, type BatchLink, type BatchOptions, type BatchReply } from './send-batches.ts'

export type { RpcAnswer, RpcCall }

export interface EndpointOptions extends GovernorLimits, CodecOptions {
  /** Time limit of one HTTP request. */
  timeoutMs: number
  /** Limits of each method's answer; an unlisted method has a small answer. */
  limits?: AnswerLimits
  /** Creates the transport; undici's by default. */
  connect?: (url: string) => HttpPost
  /** Hidden in all messages, beside the secrets in the URL. */
  secret?: string | null
  /** Called once for each limit that the endpoint turns out to have. */
  onLearned?: (message: string) => void
  /** Called at the end of each HTTP request with its calls, its time, and the reason if it failed. */
  onRequest?: (calls: number, ms: number, failure: RequestFailure | null) => void
}

/**
 * One JSON-RPC endpoint over HTTP: batches, time-outs, pace. A call gives a result or a JSON-RPC error; faults of the
 * endpoint are thrown. No error or message shows its URL.
 */
export class RpcEndpoint {
  readonly label: string
  readonly governor: RateGovernor
  /** Blocks that the endpoint takes in one question. */
  readonly ranges = new RangeWidth(Number.MAX_SAFE_INTEGER)
  readonly #post: HttpPost
  readonly #codec: JsonRpcCodec
  readonly #options: EndpointOptions
  readonly #closing = new AbortController()
  readonly #underWay = new Set<AbortController>()
  readonly #largeBodies = pLimit(1)
  readonly #alone = new SaidAlone()
  readonly #limits = new Map<string, number>()
  #nextId = 1

  constructor(url: string, options: EndpointOptions) {
    this.label = endpointLabel(url)
    this.governor = new RateGovernor(options, (calls) => this.learned('batches', calls, 'calls'))
    this.#post = (options.connect ?? undiciPost)(url)
    this.#codec = new JsonRpcCodec(options, createRedactor([...secretsInUrl(url), options.secret ?? '']))
    this.#options = options
  }

  /** Returns the result. Throws CallFailed, EndpointFault and RateLimited. */
  async call(
    method: string,
    params: unknown[],
    options?: Pick<BatchOptions, 'rateRetries'>,
  ): Promise<unknown> {
    const [answer] = await this.#sendEach([{ method, params }], (answer) => answer, options)
    return this.resultOf(method, answer)
  }

  /** Returns the result of an answer. Throws a CallFailed for an error and an EndpointFault for no answer. */
  resultOf(method: string, answer: RpcAnswer | undefined): unknown {
    if (answer === undefined) throw new EndpointFault(`${method}: no answer`)
    if (answer.ok) return answer.result
    throw new CallFailed(`${method}: ${answer.message} (${answer.code})`, answer.kind)
  }

  /**
   * Returns answers in the order of the calls, sent in batches as large as the endpoint takes. A batch that fails after
   * others succeeded is tried again here, so that a long list does not start again. An answer that is too large has the
   * kind `too-large`, or is an EndpointFault when no honest answer is so large. Throws a CallFailed of that kind when
   * all answers together are too large for memory.
   */
  send(calls: RpcCall[]): Promise<RpcAnswer[]> {
    return this.#sendEach(calls, (answer) => answer, { mostBytes: 2 * largestAnswer() })
  }

  /** Sends like {@link send} and passes each answer to `take`, so that answers are freed batch by batch. */
  sendEach<T>(calls: RpcCall[], take: (answer: RpcAnswer, index: number) => T): Promise<T[]> {
    return this.#sendEach(calls, take)
  }

  #sendEach<T>(
    calls: RpcCall[],
    take: (answer: RpcAnswer, index: number) => T,
    options: BatchOptions = {},
  ): Promise<T[]> {
    const link: BatchLink = {
      governor: this.governor,
      attempt: (batch) => this.#attempt(batch),
      alone: this.#alone,
      isClosed: () => this.#closing.signal.aborted,
    }
    return new BatchRun(link, calls, take, options).run()
  }

  /** Reports a limit that the endpoint turned out to have, unless one as small was reported before. */
  learned(what: 'batches' | 'ranges', most: number, unit: string): void {
    if (most >= (this.#limits.get(what) ?? Infinity)) return
    this.#limits.set(what, most)
    this.#options.onLearned?.(`${this.label} takes ${what} of at most ${most} ${unit}`)
  }

  close(): void {
    this.#closing.abort()
    for (const controller of this.#underWay) controller.abort(new EndpointFault('closed'))
  }

  async #attempt(batch: RpcCall[]): Promise<BatchReply> {
    if (!(await this.governor.acquire(this.#closing.signal))) throw new EndpointFault('closed')
    const controller = new AbortController()
    this.#underWay.add(controller)
    const beganMs = performance.now()
    let failure: RequestFailure | null = null
    try {
      const reply = await this.#exchange(batch, controller)
      if (typeof reply !== 'string') this.governor.succeeded()
      return reply
    } catch (error) {
      failure = requestFailureOf(error)
      if (error instanceof RateLimited) this.governor.slowDown(error.retryAfterMs)
      else if (batch.length > 1) this.governor.batchFailed(batch.length)
      throw error
    } finally {
      this.#underWay.delete(controller)
      if (!this.#closing.signal.aborted)
        this.#options.onRequest?.(batch.length, performance.now() - beganMs, failure)
      this.governor.release()
    }
  }

  async #exchange(batch: RpcCall[], controller: AbortController): Promise<BatchReply> {
    const id = this.#nextId
    const count = batch.length
    this.#nextId += count
    const limit = limitOf(
      batch.map(({ method }) => method),
      this.#options.limits ?? {},
    )
    const room = new BodyRoom(limit.bytes, this.#largeBodies)
    try {
      const { timeoutMs } = this.#options
      const http = await this.#post(requestText(batch, id), { timeoutMs, controller, room })
      checkStatus(http)
      await ownTurn()
      const answers = this.#codec.read(http, { id, count, limit })
      return typeof answers === 'string' ? answers : { answers, bytes: http.body.byteLength }
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error
      if (count > 1 || limit.mayBeLarger !== true)
        throw new AnswerTooLarge(`${batch[0]?.method ?? ''}: ${error.message}`)
      return { answers: [{ ok: false, kind: 'too-large', code: 0, message: error.message }], bytes: 0 }
    } finally {
      room.leave()
    }
  }
}
