import { messageOf } from '../../../shared/errors.ts'
import { endpointLabel } from '../../../shared/log.ts'
import { createRedactor, redactedStart, secretsInUrl, type Redactor } from '../../../shared/secrets.ts'
import { RangeWidth } from '../block-ranges.ts'
import { ownTurn } from '../../../shared/async/turns.ts'
import { largestAnswer, limitOf, type AnswerLimit, type AnswerLimits } from './answer-limits.ts'
import { ownText, storableText } from './foreign-text.ts'
import type { HttpAnswer } from './http-exchange.ts'
import { undiciPost, type HttpPost } from './http-post.ts'
import { exceededBound } from './json-bounds.ts'
import { RateGovernor, type GovernorLimits } from './rate-governor.ts'
import { LargeBodies, textOf } from './read-body.ts'
import type { Exchange, RpcAnswer, RpcCall, SaidResult } from './rpc-call.ts'
import {
  AccessRefused,
  AnswerTooLarge,
  CallFailed,
  EndpointFault,
  RateLimited,
  RequestRefused,
  type RpcErrorKind,
} from './rpc-error.ts'
import { SaidAlone } from './said-alone.ts'
import { BatchRun, type BatchLink, type BatchOptions, type BatchReply } from './send-batches.ts'

export type { Exchange, RpcAnswer, RpcCall, SaidResult }

/** Of the requests of all endpoints of a client. */
export interface RequestIds {
  next: number
}

export interface EndpointOptions extends GovernorLimits {
  /** Per HTTP request. */
  timeoutMs: number
  /** What a JSON-RPC error of this chain's nodes means. */
  classify: (code: number, message: string) => RpcErrorKind
  /** Reads the text of a body; JSON.parse when missing. */
  parse?: (text: string) => unknown
  /** What each method's answer may hold; a method that is not in it has a small answer. */
  limits?: AnswerLimits
  /** How bodies travel; by undici where nothing else is said. */
  connect?: (url: string) => HttpPost
  /** Beside the parts of the URL: never shown, also not where an endpoint quotes it. */
  secret?: string | null
  /** Of this endpoint alone where nothing else is said. */
  ids?: RequestIds
  /** Hears once of each limit that the endpoint turned out to have. */
  onLearned?: (message: string) => void
}

const NAMES_BATCH = /batch|number of requests/i
/** Characters of an error that are looked at: patterns are matched with it. */
const MOST_ERROR_TEXT = 10_000

/**
 * One JSON-RPC endpoint over HTTP: batches, time-outs, pace. What it answers is matched by id and is one of: a
 * result, a JSON-RPC error, or (thrown) a fault of the endpoint. Nothing that it throws or tells shows its URL.
 */
export class RpcEndpoint {
  readonly label: string
  readonly governor: RateGovernor
  /** How many blocks it takes in one question. */
  readonly ranges = new RangeWidth(Number.MAX_SAFE_INTEGER)
  readonly #post: HttpPost
  readonly #redactor: Redactor
  readonly #options: EndpointOptions
  readonly #closing = new AbortController()
  readonly #underWay = new Set<AbortController>()
  readonly #largeBodies = new LargeBodies()
  readonly #alone = new SaidAlone()
  readonly #limits = new Map<string, number>()
  readonly #ids: RequestIds

  constructor(url: string, options: EndpointOptions) {
    this.label = endpointLabel(url)
    this.governor = new RateGovernor(options, (calls) => this.learned('batches', calls, 'calls'))
    this.#post = (options.connect ?? undiciPost)(url)
    this.#redactor = createRedactor([...secretsInUrl(url), options.secret ?? ''])
    this.#options = options
    this.#ids = options.ids ?? { next: 1 }
  }

  /** The result, or a CallFailed. Throws EndpointFault and RateLimited as well. */
  async call(method: string, params: unknown[]): Promise<unknown> {
    const [answer] = await this.send([{ method, params }])
    return this.resultOf(method, answer)
  }

  /**
   * As {@link call}, with how it was said. `before` is what another endpoint of the client said to the same question: that has
   * the same id here, and where the answer is the same, byte for byte, it is not read again: `before` itself is returned.
   * `rateRetries`: how often a "slow down" is waited for.
   */
  async ask(
    method: string,
    params: unknown[],
    before?: SaidResult,
    rateRetries?: number,
  ): Promise<SaidResult> {
    const take = (answer: RpcAnswer, _: number, { id, body, isRepeated }: Exchange): SaidResult =>
      isRepeated && before !== undefined ? before : { id, body, result: this.resultOf(method, answer) }
    const [said] = await this.#sendEach([{ method, params }], take, { before, rateRetries })
    if (said === undefined) throw new EndpointFault(`${method}: no answer`)
    return said
  }

  resultOf(method: string, answer: RpcAnswer | undefined): unknown {
    if (answer === undefined) throw new EndpointFault(`${method}: no answer`)
    if (answer.ok) return answer.result
    throw new CallFailed(`${method}: ${answer.message} (${answer.code})`, answer.kind)
  }

  /**
   * Answers in the order of the calls, sent in batches as large as the endpoint takes them. A batch that fails after
   * others succeeded is tried again here, so that a long list of calls does not begin anew. An answer that is too large is
   * one of the kind `too-large`, or an EndpointFault where no honest one is. Throws a CallFailed of that kind where all
   * answers together are too large to be held.
   */
  send(calls: RpcCall[]): Promise<RpcAnswer[]> {
    return this.#sendEach(calls, (answer) => answer, { mostBytes: 2 * largestAnswer() })
  }

  /** As {@link send}, with what `take` makes of each answer, batch by batch: no answer is kept until the last one came. */
  sendEach<T>(calls: RpcCall[], take: (answer: RpcAnswer, index: number) => T): Promise<T[]> {
    return this.#sendEach(calls, take)
  }

  #sendEach<T>(
    calls: RpcCall[],
    take: (answer: RpcAnswer, index: number, exchange: Exchange) => T,
    options: BatchOptions = {},
  ): Promise<T[]> {
    const link: BatchLink = {
      governor: this.governor,
      attempt: (batch, before) => this.#attempt(batch, before),
      alone: this.#alone,
      isClosed: () => this.#closing.signal.aborted,
    }
    return new BatchRun(link, calls, take, options).run()
  }

  /** Reports the limit that the endpoint turned out to have, and no larger one later. */
  learned(what: 'batches' | 'ranges', most: number, unit: string): void {
    if (most >= (this.#limits.get(what) ?? Infinity)) return
    this.#limits.set(what, most)
    this.#options.onLearned?.(`${this.label} takes ${what} of at most ${most} ${unit}`)
  }

  close(): void {
    this.#closing.abort()
    for (const controller of this.#underWay) controller.abort(new EndpointFault('closed'))
  }

  async #attempt(batch: RpcCall[], before?: SaidResult): Promise<BatchReply> {
    if (!(await this.governor.acquire(this.#closing.signal))) throw new EndpointFault('closed')
    const controller = new AbortController()
    this.#underWay.add(controller)
    try {
      const exchange = await this.#exchange(batch, controller, before)
      if (typeof exchange !== 'string') this.governor.succeeded()
      return exchange
    } catch (error) {
      if (error instanceof RateLimited) this.governor.slowDown(error.retryAfterMs)
      else if (batch.length > 1) this.governor.batchFailed(batch.length)
      throw error
    } finally {
      this.#underWay.delete(controller)
      this.governor.release()
    }
  }

  async #exchange(batch: RpcCall[], controller: AbortController, before?: SaidResult): Promise<BatchReply> {
    const id = before?.id ?? this.#takeIds(batch.length)
    const requests = batch.map((call, index) => ({ jsonrpc: '2.0', id: id + index, ...call }))
    const limit = limitOf(
      batch.map(({ method }) => method),
      this.#options.limits ?? {},
    )
    const room = this.#largeBodies.enter(limit.bytes)
    try {
      const request = JSON.stringify(requests.length === 1 ? requests[0] : requests)
      const http = await this.#post(request, { timeoutMs: this.#options.timeoutMs, controller, room })
      return await this.#read(http, { id, count: batch.length, limit, before })
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error
      const [first] = batch
      const tooLarge = new AnswerTooLarge(`${first?.method ?? ''}: ${error.message}`)
      if (batch.length > 1 || limit.mayBeLarger !== true) throw tooLarge
      const answer: RpcAnswer = { ok: false, kind: 'too-large', code: 0, message: error.message }
      return { id, body: Buffer.alloc(0), answers: [answer], isRepeated: false }
    } finally {
      room.leave()
    }
  }

  async #read(
    http: HttpAnswer,
    {
      id,
      count,
      limit,
      before,
    }: { id: number; count: number; limit: AnswerLimit; before: SaidResult | undefined },
  ): Promise<BatchReply> {
    if (http.status === 429 || (http.status === 503 && http.retryAfterMs !== null)) {
      throw new RateLimited(`HTTP ${http.status}`, http.retryAfterMs)
    }
    if (http.status >= 300 && http.status < 400) {
      throw new EndpointFault(`HTTP ${http.status}: a redirect, which is not followed`)
    }
    await ownTurn()
    const { body } = http
    if (before?.body.equals(body) === true) {
      return { id, body, answers: [{ ok: true, result: before.result }], isRepeated: true }
    }
    const json = parseBody(http, limit, this.#options.parse ?? JSON.parse)
    if (count === 1) {
      const only: unknown = Array.isArray(json) && json.length === 1 ? json[0] : json
      return { id, body, answers: [this.#accept(only, id, http)], isRepeated: false }
    }
    if (!Array.isArray(json)) return this.#notABatch(json, http)
    const answers = this.#match(json, id, count, http)
    return typeof answers === 'string' ? answers : { id, body, answers, isRepeated: false }
  }

  /** The first of so many ids that no other request has. */
  #takeIds(count: number): number {
    const first = this.#ids.next
    this.#ids.next += count
    return first
  }

  /** A call without an answer of its own gets an error without an id, if there is one. */
  #match(
    items: unknown[],
    firstId: number,
    count: number,
    http: HttpAnswer,
  ): RpcAnswer[] | 'refused' | 'unclear' {
    if (items.length > count + 1) throw new EndpointFault(`${items.length} answers to a batch of ${count}`)
    const byId = new Map<unknown, unknown>()
    let rest: RpcAnswer = { ok: false, kind: 'other', code: 0, message: 'no answer' }
    for (const item of items) {
      const id = isRecord(item) ? (item['id'] ?? null) : null
      const error = isRecord(item) && id === null ? this.#errorOf(item['error']) : null
      if (error !== null) rest = error
      else if (byId.has(id)) throw new EndpointFault('two answers to one request of a batch')
      else byId.set(id, item)
    }
    const ids = Array.from({ length: count }, (_, index) => firstId + index)
    const known = ids.filter((id) => byId.has(id))
    if (byId.size > known.length) throw new EndpointFault("an answer with another request's id")
    if (known.length === 0) return rest.kind === 'rate' ? this.#slowDown(rest, http) : 'unclear'
    return ids.map((id) => (byId.has(id) ? this.#accept(byId.get(id), id, http, count) : rest))
  }

  #notABatch(json: unknown, http: HttpAnswer): 'refused' | 'unclear' {
    const error = isRecord(json) ? this.#errorOf(json['error']) : null
    if (error?.kind === 'rate') return this.#slowDown(error, http)
    if (error !== null) return 'refused'
    if (http.status === 401 || http.status === 403) throw faultOf(http, '')
    return http.status >= 400 && http.status < 500 && http.status !== 408 ? 'refused' : 'unclear'
  }

  /** -32005 is Besu's and Nethermind's code for a batch that is too large, and others' for a quota. */
  #slowDown({ message }: { message: string }, http: HttpAnswer): 'refused' {
    if (NAMES_BATCH.test(message)) return 'refused'
    throw new RateLimited(message, http.retryAfterMs)
  }

  #accept(item: unknown, id: number, http: HttpAnswer, count = 1): RpcAnswer {
    if (!isRecord(item)) {
      throw faultOf(http, 'not a JSON-RPC answer')
    }
    const error = this.#errorOf(item['error'])
    if (error !== null) {
      if (error.kind === 'rate' && count === 1) throw new RateLimited(error.message, http.retryAfterMs)
      if (item['id'] === id || item['id'] === null || item['id'] === undefined) return error
    }
    if (item['id'] !== id) throw new EndpointFault("an answer with another request's id")
    if (!('result' in item)) throw new EndpointFault('an answer without a result')
    return { ok: true, result: item['result'] }
  }

  #errorOf(error: unknown): (RpcAnswer & { ok: false }) | null {
    if (error === undefined || error === null) return null
    const code = isRecord(error) && typeof error['code'] === 'number' ? error['code'] : 0
    const said = isRecord(error) && typeof error['message'] === 'string' ? error['message'] : 'unnamed error'
    const kind = this.#options.classify(code, said.slice(0, MOST_ERROR_TEXT))
    return { ok: false, kind, code, message: this.#redact(said) }
  }

  /** A provider's message can quote the key, also where it would be cut. */
  #redact(text: string): string {
    return ownText(storableText(redactedStart(this.#redactor, text, MOST_ERROR_TEXT), 300))
  }
}

function faultOf({ status }: HttpAnswer, otherwise: string): EndpointFault {
  if (status === 401 || status === 403) return new AccessRefused(`HTTP ${status}`)
  if (status >= 400) return new RequestRefused(`HTTP ${status}`)
  if (status >= 300 && status < 400)
    return new EndpointFault(`HTTP ${status}: a redirect, which is not followed`)
  return new EndpointFault(status === 200 ? otherwise : `HTTP ${status}`)
}

function parseBody(http: HttpAnswer, limit: AnswerLimit, parse: (text: string) => unknown): unknown {
  const exceeded = exceededBound(http.body, limit)
  if (exceeded !== null) {
    if (http.status !== 200) return null
    throw new AnswerTooLarge(`its answer has ${exceeded}`)
  }
  const text = textOf(http.body)
  try {
    return parse(text)
  } catch (error) {
    if (http.status !== 200) return null
    throw new EndpointFault(
      text.trimStart().startsWith('<')
        ? 'HTML instead of JSON'
        : `malformed JSON (${text.length} characters${whereItFails(error)})`,
    )
  }
}

/** The parser's message quotes the body, which can quote the key and be anything: only known words of it are told. */
function whereItFails(error: unknown): string {
  const known = /\bposition \d+|unexpected end|nests too deep/i.exec(messageOf(error))?.[0]
  return known === undefined ? '' : `, ${known.toLowerCase()}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
