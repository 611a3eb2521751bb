import { signal } from '@preact/signals'
import { readingClient } from './client.ts'

/** The service's own client: the page is served by the API that it reads. */
export const client = readingClient(location.pathname.replace(/\/[^/]*$/, ''))

/** Milliseconds without an answer after which the page says so, and after which it stops waiting. */
const SLOW_MS = 3000
const MOST_MS = 20_000

/** `away`: no answer; `busy`: asked to come later; `missing`: no such thing; `refused`: the question was wrong. */
export type FailureKind = 'away' | 'busy' | 'missing' | 'refused' | 'broken'

/** Why the API did not answer. The message is for people. */
export class Failure extends Error {
  override name = 'Failure'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

export interface Answer<T> {
  data: T
  etag: string | null
}

/** Result of a function of the client. */
export interface Reply<T> {
  data?: T | undefined
  error?: unknown
  response?: Response | undefined
}

export type Call<T> = (options: { client: typeof client; signal: AbortSignal }) => Promise<Reply<T>>

/** How the API behaves: whether it answers, and within reason. `away` is also an API that refuses to answer for now. */
export const connection = signal<'ok' | 'slow' | 'away'>('ok')
const slowRequests = new Set<object>()

/** Asks the API once. Throws a {@link Failure}, or the signal's reason. */
export async function ask<T>(call: Call<T>, stop?: AbortSignal): Promise<Answer<T>> {
  const timeout = AbortSignal.timeout(MOST_MS)
  const request = {}
  const timer = setTimeout(() => {
    slowRequests.add(request)
    if (connection.value === 'ok') connection.value = 'slow'
  }, SLOW_MS)
  try {
    const signal = stop === undefined ? timeout : AbortSignal.any([stop, timeout])
    const { data, error, response } = await call({ client, signal }).catch((): Reply<T> => ({}))
    stop?.throwIfAborted()
    if (data !== undefined && response?.ok === true) {
      slowRequests.delete(request)
      connection.value = slowRequests.size > 0 ? 'slow' : 'ok'
      return { data, etag: response.headers.get('etag') }
    }
    const failure = failureOf(response, error)
    connection.value = failure.kind === 'missing' || failure.kind === 'refused' ? 'ok' : 'away'
    throw failure
  } finally {
    clearTimeout(timer)
    slowRequests.delete(request)
  }
}

/** The message is the API's own sentence where it has one. */
function failureOf(response: Response | undefined, error: unknown): Failure {
  if (response === undefined) return new Failure('away', 'The API does not answer.')
  const { status } = response
  const told = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  const message = typeof told === 'string' ? told : `The API answered ${status}.`
  if (status === 404) return new Failure('missing', message)
  if (status === 429 || status === 503) return new Failure('busy', message)
  if (status >= 400 && status < 500) return new Failure('refused', message)
  // A proxy says so where the API behind it is gone.
  return new Failure(status === 502 || status === 504 ? 'away' : 'broken', message)
}
