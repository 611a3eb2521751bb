import {
  AccessRefused,
  AnswerTooLarge,
  EndpointFault,
  RateLimited,
  RequestRefused,
  TimedOut,
} from './rpc-error.ts'

/** Why an HTTP request to an endpoint failed. */
export const REQUEST_FAILURES = [
  'rate_limit',
  'timeout',
  'too_large',
  'access',
  'http_status',
  'fault',
] as const
export type RequestFailure = (typeof REQUEST_FAILURES)[number]

/** Hears what a network's endpoints do, for metrics. A place is the endpoint's place in the configuration, from 1. */
export interface EndpointWatch {
  /** One HTTP request of `calls` calls has ended; `failure` is null if it was answered. */
  onRequest: (place: number, calls: number, ms: number, failure: RequestFailure | null) => void
  /** An answer cannot be true, or contradicts that of another endpoint. */
  onDisagreement: (place: number) => void
  /** It is asked for nothing until then, in ms of the monotonic clock; Infinity while it is of another chain. */
  onAside: (place: number, untilMs: number) => void
}

/** Null for an error that is not the endpoint's. */
export function requestFailureOf(error: unknown): RequestFailure | null {
  if (error instanceof RateLimited) return 'rate_limit'
  if (error instanceof TimedOut) return 'timeout'
  if (error instanceof AnswerTooLarge) return 'too_large'
  if (error instanceof AccessRefused) return 'access'
  if (error instanceof RequestRefused) return 'http_status'
  return error instanceof EndpointFault ? 'fault' : null
}
