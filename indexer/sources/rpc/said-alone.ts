import { LRUCache } from 'lru-cache'
import type { RpcAnswer, RpcCall } from './rpc-call.ts'

type Refusal = RpcAnswer & { ok: false }

/** Time after which a call is asked alone again. */
const VALID_MS = 60_000
const MOST_SAID = 100

/**
 * Errors that one endpoint recently gave to single calls. The size of a batch did not cause them, so they are answers
 * in a batch too. Time-outs, internal errors and "slow down" are never kept, because they may pass.
 */
export class SaidAlone {
  readonly #errors = new LRUCache<string, true>({ max: MOST_SAID, ttl: VALID_MS })

  add(call: RpcCall | undefined, error: Refusal): void {
    if (call === undefined || error.kind === 'other' || error.kind === 'rate') return
    this.#errors.set(nameOf(call, error), true)
  }

  has(call: RpcCall | undefined, answer: RpcAnswer | undefined): boolean {
    return call !== undefined && answer?.ok === false && this.#errors.has(nameOf(call, answer))
  }
}

function nameOf({ method }: RpcCall, error: Refusal): string {
  return `${method} ${error.code} ${wordsOf(error.message)}`
}

/** Tells whether both errors have the same code and words. */
export function isSameError(left: Refusal, right: Refusal): boolean {
  return left.code === right.code && wordsOf(left.message) === wordsOf(right.message)
}

/** Replaces hashes and numbers, which differ from call to call. */
export function wordsOf(message: string): string {
  return message.replaceAll(/0x[0-9a-f]+|\d+/gi, '#')
}
