import { pause } from '../../shared/async/pause.ts'

/** Milliseconds. A database that is there again is noticed well within five seconds. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [100, 1_000]

/** The result of work that never succeeded before its worker had to stop. */
export const LEFT = Symbol('left')

/**
 * Repeats work in place while it fails with retryable errors; others are thrown. The first attempt is made even if `signal` is
 * aborted already.
 */
export async function patiently<T>(
  work: () => Promise<T>,
  {
    isRetryable,
    onRetry,
    signal,
  }: { isRetryable: (error: unknown) => boolean; onRetry: (error: unknown) => void; signal: AbortSignal },
): Promise<T | typeof LEFT> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (!signal.aborted) {
        onRetry(error)
        await pause(delayMs, signal)
      }
      if (signal.aborted) return LEFT
    }
  }
}
