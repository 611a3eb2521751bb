import type { ServerResponse } from 'node:http'
import type { Random } from '../evm/random.ts'

/** The words that faults of a node are written in. A fault knows JSON-RPC and its method names, and no transport. */

export interface Request {
  id: number
  method: string
  params: unknown[]
}

export interface Answer {
  id: number
  result?: unknown
  error?: { code: number; message: string }
}

/** What a fault does with one HTTP request instead of forwarding it: an answer of its own, or none at all. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; body: string }
  | 'hang'
  | 'drop'
  | { afterMs: number }
  /** Writes the response itself. */
  | { write: (response: ServerResponse) => void }

/** The node behind a fault: for lies that are made of the truth. */
export interface Upstream {
  /** One question of the fault's own; null where the node refuses it. */
  ask(method: string, ...params: unknown[]): Promise<unknown>
}

/**
 * Gets the requests of one HTTP request and the node's true answers (asked for on demand). A list of answers, in
 * whatever order, is sent as they would be. Null: answer truly.
 */
export type Fault = (
  requests: Request[],
  truth: () => Promise<Answer[]>,
  isBatch: boolean,
  upstream: Upstream,
) => Promise<Reply | Answer[] | null> | Reply | Answer[] | null

/** The chance of one fault: `now(p)` says whether it happens this time. */
export interface Chance {
  now: (probability: number) => boolean
  below: (n: number) => number
}
export type MakeFault = (chance: Chance) => Fault

export function chanceFrom(random: Random): Chance {
  return { now: (probability) => random.chance(probability), below: (n) => random.int(0, Math.max(0, n - 1)) }
}

/**
 * A kind of fault, by itself.
 * - `visible`: the answers alone tell that something is wrong: one endpoint is enough to get through it;
 * - `witness`: only another endpoint can tell;
 * - `hidden`: nobody could tell without proofs that nodes do not give, or that are not asked for.
 */
export interface FaultKind {
  make: MakeFault
  seenBy: 'visible' | 'witness' | 'hidden'
  /** Takes a time-out of its victim each time. */
  isSlow?: boolean
  /** Is not there together with others that have the same here: two lies that are seen can be one that is not. */
  coversUp?: string
}

export type FaultKinds = Record<string, FaultKind>

export const refusal = (id: number | null | undefined, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })

/**
 * The true answers, changed: `change` gets each request with its result and returns what is said instead; `undefined`
 * where it has nothing to change. When nothing was changed, that was no fault.
 */
export function lyingAnswers(
  methods: readonly string[],
  change: (result: unknown, request: Request, upstream: Upstream) => unknown,
): Fault {
  return async (requests, truth, _isBatch, upstream) => {
    if (!requests.some(({ method }) => methods.includes(method))) return null
    let changes = 0
    const answers: Answer[] = []
    for (const answer of await truth()) {
      const request = requests.find(({ id }) => id === answer.id)
      const isAsked = request !== undefined && methods.includes(request.method) && 'result' in answer
      const changed = isAsked ? await change(answer.result, request, upstream) : undefined
      if (changed !== undefined) changes += 1
      answers.push(changed === undefined ? answer : said(answer.id, changed))
    }
    return changes === 0 ? null : answers
  }
}

/** What a lie says when it says that it cannot. */
export class Refusal {
  readonly code: number
  readonly message: string
  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

function said(id: number, result: unknown): Answer {
  return result instanceof Refusal
    ? { id, error: { code: result.code, message: result.message } }
    : { id, result }
}

/** Wraps a fault that would always happen into one that happens with this probability. */
export function sometimes(probability: number, fault: Fault): MakeFault {
  return ({ now }) =>
    (requests, truth, isBatch, upstream) =>
      now(probability) ? fault(requests, truth, isBatch, upstream) : null
}

export type Json = Record<string, unknown>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
