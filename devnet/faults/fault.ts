import type { ServerResponse } from 'node:http'
import type { Random } from '../evm/random.ts'

/** The terms in which faults of a node are written. A fault knows JSON-RPC and its method names, but no transport. */

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

/** A fault's reaction to one HTTP request instead of forwarding it: its own answer, or none at all. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; body: string }
  | 'hang'
  | 'drop'
  | { afterMs: number }
  /** The fault writes the response itself. */
  | { write: (response: ServerResponse) => void }

/** The node behind a fault, for lies that are made from true answers. */
export interface Upstream {
  /** Sends the fault's own request; null where the node refuses it. */
  ask(method: string, ...params: unknown[]): Promise<unknown>
}

/**
 * Gets the calls of one HTTP request and the node's true answers, fetched on demand. A returned list of answers, in any
 * order, is sent in the true answers' form. Null: the true answers are sent.
 */
export type Fault = (
  requests: Request[],
  truth: () => Promise<Answer[]>,
  isBatch: boolean,
  upstream: Upstream,
) => Promise<Reply | Answer[] | null> | Reply | Answer[] | null

/** The source of chance for one fault: `now(p)` is true with probability p. */
export interface Chance {
  now: (probability: number) => boolean
  below: (n: number) => number
}
export type MakeFault = (chance: Chance) => Fault

export function chanceFrom(random: Random): Chance {
  return { now: (probability) => random.chance(probability), below: (n) => random.int(0, Math.max(0, n - 1)) }
}

/**
 * A kind of fault.
 * - `visible`: the answers alone show the fault, so one endpoint is enough to survive it;
 * - `witness`: only another endpoint can show it;
 * - `hidden`: only proofs could show it, and nodes do not give them or are not asked for them.
 */
export interface FaultKind {
  make: MakeFault
  seenBy: 'visible' | 'witness' | 'hidden'
  /** Costs its victim a time-out each time. */
  isSlow?: boolean
  /** Faults with the same value are never active together: two visible lies can make one that is not. */
  coversUp?: string
}

export type FaultKinds = Record<string, FaultKind>

export const refusal = (id: number | null | undefined, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })

/**
 * Changes true answers. `change` gets each request with its result and returns the false one, or `undefined` to leave
 * it. An unchanged response does not count as a fault.
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

/** A lie that is an error. */
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

/** Makes a fault that always happens occur with the given probability. */
export function sometimes(probability: number, fault: Fault): MakeFault {
  return ({ now }) =>
    (requests, truth, isBatch, upstream) =>
      now(probability) ? fault(requests, truth, isBatch, upstream) : null
}

export type Json = Record<string, unknown>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
