import type { RpcAnswer, RpcCall } from './rpc-call.ts'

type Refusal = RpcAnswer & { ok: false }

/** After so long a call is asked alone again. */
const VALID_MS = 60_000
const MOST_SAID = 100

/**
 * Errors that one endpoint gave to single calls lately. They were not about the size of a batch, so in a batch they are
 * answers too. Time-outs, internal errors and "slow down" are never kept: they may pass.
 */
export class SaidAlone {
  readonly #said = new Map<string, number>()

  add(call: RpcCall | undefined, error: Refusal): void {
    if (call === undefined || error.kind === 'other' || error.kind === 'rate') return
    this.#said.delete(nameOf(call, error))
    this.#said.set(nameOf(call, error), performance.now() + VALID_MS)
    const [oldest] = this.#said.keys()
    if (this.#said.size > MOST_SAID && oldest !== undefined) this.#said.delete(oldest)
  }

  has(call: RpcCall | undefined, answer: RpcAnswer | undefined): boolean {
    if (call === undefined || answer?.ok !== false) return false
    return (this.#said.get(nameOf(call, answer)) ?? 0) > performance.now()
  }
}

function nameOf({ method }: RpcCall, error: Refusal): string {
  return `${method} ${error.code} ${wordsOf(error.message)}`
}

/** The same code in the same words. */
export function isSameError(left: Refusal, right: Refusal): boolean {
  return left.code === right.code && wordsOf(left.message) === wordsOf(right.message)
}

/** Hashes and numbers differ from call to call. */
export function wordsOf(message: string): string {
  return message.replaceAll(/0x[0-9a-f]+|\d+/gi, '#')
}
