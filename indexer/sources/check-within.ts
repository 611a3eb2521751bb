import pTimeout from 'p-timeout'
import { RetryableError } from '../../shared/errors.ts'

const MOST_MS = 10_000

/** Awaits a source's check. Rejects with a RetryableError when it takes too long, and when the signal is aborted. */
export function checkWithin(network: string, check: Promise<void>, signal: AbortSignal): Promise<void> {
  const message = new RetryableError(`${network}: no endpoint answered within ${MOST_MS} ms`)
  return pTimeout(check, { milliseconds: MOST_MS, message, signal })
}
