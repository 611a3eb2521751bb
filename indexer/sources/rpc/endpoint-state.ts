import type { RetryableError } from '../../../shared/errors.ts'
import { CallFailed, EndpointFault, RateLimited, WrongChain } from './rpc-error.ts'

/** (pure) What is known of one endpoint, and how events change it. Times are ms of the monotonic clock. */

/** Waits that can end in vain: for an answer that the others no longer have, or for a second opinion. */
export type Wait = 'answer' | 'opinion'

export interface EndpointState {
  /** Failures that make the next time aside longer. */
  strikes: number
  asideUntilMs: number
  /** The identity of another chain that it was found to have; then it is asked for nothing but its chain. */
  wrongChain: string | null
  /** Its chain was verified since it was last put aside. */
  isVerified: boolean
  /** Its newest head while it lacks blocks that others have; then it is asked last. */
  behindAt: number | null
  /** It was waited for in vain: it is not waited for again until it answers. */
  givenUp: Readonly<Record<Wait, boolean>>
}

/**
 * - refusal: it answered, but not this request
 * - fault: it did not answer as JSON-RPC
 * - untruth: its answer cannot be true
 */
export type Failure = { is: 'refusal' | 'fault' | 'untruth' } | { is: 'wrong chain'; found: string }

export type EndpointEvent =
  | { type: 'answered' | 'verified' | 'caught up' }
  | { type: 'failed'; failure: Failure; atMs: number; longestAsideMs: number }
  /** Other endpoints have blocks above its head. */
  | { type: 'fell behind'; head: number }
  | { type: 'head seen'; head: number }
  | { type: 'given up' | 'responded'; wait: Wait }

const FIRST_ASIDE_MS = 250
/** An untruth counts twice a fault: it may be meant. */
const FIRST_ASIDE_OF_UNTRUTH_MS = 500
const MOST_STRIKES = 20

export const INITIAL_STATE: EndpointState = {
  strikes: 0,
  asideUntilMs: 0,
  wrongChain: null,
  isVerified: false,
  behindAt: null,
  givenUp: { answer: false, opinion: false },
}

export function reduceEndpoint(state: EndpointState, event: EndpointEvent): EndpointState {
  switch (event.type) {
    case 'answered':
      return { ...state, strikes: Math.floor(state.strikes / 2) }
    case 'verified':
      return { ...state, isVerified: true, wrongChain: null }
    case 'failed':
      return afterFailure(state, event)
    case 'fell behind':
      return { ...state, behindAt: event.head }
    case 'head seen':
      return state.behindAt === null ? state : { ...state, behindAt: Math.max(state.behindAt, event.head) }
    case 'caught up':
      return { ...state, behindAt: null }
    case 'given up':
    case 'responded':
      return { ...state, givenUp: { ...state.givenUp, [event.wait]: event.type === 'given up' } }
  }
}

function afterFailure(
  state: EndpointState,
  { failure, atMs, longestAsideMs }: EndpointEvent & { type: 'failed' },
): EndpointState {
  switch (failure.is) {
    case 'refusal':
      return state
    case 'wrong chain':
      return { ...state, isVerified: false, wrongChain: failure.found, asideUntilMs: atMs + longestAsideMs }
    case 'fault':
    case 'untruth': {
      // Requests that were under way together fail together.
      if (state.asideUntilMs > atMs) return state
      const firstMs = failure.is === 'fault' ? FIRST_ASIDE_MS : FIRST_ASIDE_OF_UNTRUTH_MS
      const asideMs = Math.min(longestAsideMs, firstMs * 2 ** Math.min(state.strikes, MOST_STRIKES))
      return { ...state, isVerified: false, strikes: state.strikes + 1, asideUntilMs: atMs + asideMs }
    }
  }
}

export function failureOf(error: RetryableError): Failure {
  if (error instanceof WrongChain) return { is: 'wrong chain', found: error.found }
  if (error instanceof RateLimited || error instanceof CallFailed) return { is: 'refusal' }
  return { is: error instanceof EndpointFault ? 'fault' : 'untruth' }
}
