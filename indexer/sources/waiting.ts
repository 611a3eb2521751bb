import { RetryableError } from '../../shared/errors.ts'

/** Waiting that a signal ends at once. Nothing here keeps a listener or a timer after it returned. */

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** Growing, jittered delays: so that many clients of one node do not come back together. */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  #failures = 0

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs
    this.#maxMs = maxMs
  }

  nextMs(): number {
    const full = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return full / 2 + Math.random() * (full / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}

/** A flag that one side raises and the other waits for; raised twice before anybody looked, it is seen once. */
export class Wakeup {
  #raised = false
  #wake: (() => void) | null = null

  raise(): void {
    this.#raised = true
    this.#wake?.()
  }

  /** Resolves when raised (true) or, the flag still down, after `ms` or at the signal (false). */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#raised) {
      const woken = new AbortController()
      const wake = (): void => woken.abort()
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
      await pause(ms, woken.signal)
      signal.removeEventListener('abort', wake)
      this.#wake = null
    }
    const raised = this.#raised
    this.#raised = false
    return raised
  }
}

/** What the promise gives, or a RetryableError with this message after so many milliseconds or at the signal. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  message: string,
  signal: AbortSignal,
): Promise<T> {
  const timer = new AbortController()
  const end = (): void => timer.abort()
  signal.addEventListener('abort', end, { once: true })
  const late = pause(ms, timer.signal).then((): never => {
    throw new RetryableError(`${message} within ${ms} ms`)
  })
  promise.catch(() => undefined)
  late.catch(() => undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}
