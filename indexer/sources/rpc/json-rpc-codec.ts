import { messageOf } from '../../../shared/errors.ts'
import { redactedStart, type Redactor } from '../../../shared/secrets.ts'
import type { AnswerLimit } from './answer-limits.ts'
import { ownText, storableText } from './foreign-text.ts'
import type { HttpAnswer } from './http-exchange.ts'
import { exceededBound } from './json-bounds.ts'
import { textOf } from './read-body.ts'
import type { RpcAnswer, RpcCall } from './rpc-call.ts'
import {
  AccessRefused,
  AnswerTooLarge,
  EndpointFault,
  RateLimited,
  RequestRefused,
  type RpcErrorKind,
} from './rpc-error.ts'

/** JSON-RPC over HTTP as text: writes requests with their ids and matches the answers to them. Does no I/O. */

export interface CodecOptions {
  /** Classifies a JSON-RPC error of this chain's nodes. */
  classify: (code: number, message: string) => RpcErrorKind
  /** Parses the text of a body; JSON.parse by default. */
  parse?: (text: string) => unknown
}

/** The requests that one HTTP answer covers. */
export interface Asked {
  /** Id of the first request; the others count up from it. */
  id: number
  count: number
  limit: AnswerLimit
}

/**
 * - refused: the endpoint takes no batch of this size
 * - unclear: it gave no answers, and may give none to a single call either
 */
export type NoAnswers = 'refused' | 'unclear'

type Refusal = RpcAnswer & { ok: false }

const NAMES_BATCH = /batch|number of requests/i
/** Characters of an error that patterns are matched with. */
const MOST_ERROR_TEXT = 10_000

/** Returns one request, or a list for several calls; ids count up from `firstId`. */
export function requestText(calls: readonly RpcCall[], firstId: number): string {
  const requests = calls.map((call, index) => ({ jsonrpc: '2.0', id: firstId + index, ...call }))
  return JSON.stringify(requests.length === 1 ? requests[0] : requests)
}

/** Throws when the status alone decides: a RateLimited, or an EndpointFault for a redirect. */
export function checkStatus({ status, retryAfterMs }: HttpAnswer): void {
  if (status === 429 || (status === 503 && retryAfterMs !== null))
    throw new RateLimited(`HTTP ${status}`, retryAfterMs)
  if (status >= 300 && status < 400)
    throw new EndpointFault(`HTTP ${status}: a redirect, which is not followed`)
}

export class JsonRpcCodec {
  readonly #options: CodecOptions
  readonly #redactor: Redactor

  constructor(options: CodecOptions, redactor: Redactor) {
    this.#options = options
    this.#redactor = redactor
  }

  /** Returns the answers in the requests' order. Throws EndpointFault and RateLimited. */
  read(http: HttpAnswer, { id, count, limit }: Asked): RpcAnswer[] | NoAnswers {
    const json = parseBody(http, limit, this.#options.parse ?? JSON.parse)
    if (count === 1) {
      const only: unknown = Array.isArray(json) && json.length === 1 ? json[0] : json
      return [this.#accept(only, id, http)]
    }
    return Array.isArray(json) ? this.#match(json, id, count, http) : this.#notABatch(json, http)
  }

  /** A call without its own answer gets an error without an id, if there is one. */
  #match(items: unknown[], firstId: number, count: number, http: HttpAnswer): RpcAnswer[] | NoAnswers {
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

  #notABatch(json: unknown, http: HttpAnswer): NoAnswers {
    const error = isRecord(json) ? this.#errorOf(json['error']) : null
    if (error?.kind === 'rate') return this.#slowDown(error, http)
    if (error !== null) return 'refused'
    if (http.status === 401 || http.status === 403) throw faultOf(http, '')
    return http.status >= 400 && http.status < 500 && http.status !== 408 ? 'refused' : 'unclear'
  }

  /** Besu and Nethermind use -32005 for a batch that is too large, others for a quota. */
  #slowDown({ message }: Refusal, http: HttpAnswer): 'refused' {
    if (NAMES_BATCH.test(message)) return 'refused'
    throw new RateLimited(message, http.retryAfterMs)
  }

  #accept(item: unknown, id: number, http: HttpAnswer, count = 1): RpcAnswer {
    if (!isRecord(item)) throw faultOf(http, 'not a JSON-RPC answer')
    const error = this.#errorOf(item['error'])
    if (error !== null) {
      if (error.kind === 'rate' && count === 1) throw new RateLimited(error.message, http.retryAfterMs)
      if (item['id'] === id || item['id'] === null || item['id'] === undefined) return error
    }
    if (item['id'] !== id) throw new EndpointFault("an answer with another request's id")
    if (!('result' in item)) throw new EndpointFault('an answer without a result')
    return { ok: true, result: item['result'] }
  }

  #errorOf(error: unknown): Refusal | null {
    if (error === undefined || error === null) return null
    const code = isRecord(error) && typeof error['code'] === 'number' ? error['code'] : 0
    const message =
      isRecord(error) && typeof error['message'] === 'string' ? error['message'] : 'unnamed error'
    const kind = this.#options.classify(code, message.slice(0, MOST_ERROR_TEXT))
    return { ok: false, kind, code, message: this.#redact(message) }
  }

  /** A provider's message can quote the key, so the key is hidden before the message is cut. */
  #redact(text: string): string {
    return ownText(storableText(redactedStart(this.#redactor, text, MOST_ERROR_TEXT), 300))
  }
}

function faultOf({ status }: HttpAnswer, otherwise: string): EndpointFault {
  if (status === 401 || status === 403) return new AccessRefused(`HTTP ${status}`)
  if (status >= 400) return new RequestRefused(status)
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

/** The parser's message can quote the body and so the key. Only its known words are shown. */
function whereItFails(error: unknown): string {
  const known = /\bposition \d+|unexpected end/i.exec(messageOf(error))?.[0]
  return known === undefined ? '' : `, ${known.toLowerCase()}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
