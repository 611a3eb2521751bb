import type { RetryableError } from '../../../shared/errors.ts'
import { CallFailed, EndpointFault, RateLimited, WrongChain } from './rpc-error.ts'

/** (pure) State of one endpoint and its changes. Times are ms of the monotonic clock. */

/** Waits that can be in vain: for a state that the others have pruned, or for a second opinion. */
export type Wait = 'answer' | 'opinion'

export interface EndpointState {
  /** Failures that lengthen the next time aside. */
  strikes: number
  asideUntilMs: number
  /** Identity of the other chain that was found. Such an endpoint is asked for nothing but its chain. */
  wrongChain: string | null
  /** The chain was verified after the endpoint was last put aside. */
  isVerified: boolean
  /** Newest head while the endpoint lacks blocks that others have; it is then asked last. */
  behindAt: number | null
  /** Set after a wait in vain: the endpoint is not awaited again until it answers. */
  givenUp: Readonly<Record<Wait, boolean>>
}

/**
 * - refusal: the endpoint answered, but not this request
 * - fault: the endpoint did not answer as JSON-RPC
 * - untruth: the answer cannot be true
 */
export type Failure = { is: 'refusal' | 'fault' | 'untruth' } | { is: 'wrong chain'; found: string }

export type EndpointEvent =
  | { type: 'answered' | 'verified' | 'caught up' }
  | { type: 'failed'; failure: Failure; atMs: number; longestAsideMs: number }
  /** Other endpoints have blocks above this head. */
  | { type: 'fell behind'; head: number }
  | { type: 'head seen'; head: number }
  | { type: 'given up' | 'responded'; wait: Wait }

const FIRST_ASIDE_MS = 250
/** An untruth counts twice as much as a fault, because it may be deliberate. */
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
      // Requests that were under way together fail together and count once.
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
