import { once } from 'node:events'

export const ABORTED = Symbol('aborted')

/** Resolves once `signal` is aborted, at once if it already is. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Resolves to the promise's value, or to {@link ABORTED} as soon as the signal is aborted; a later rejection is ignored. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T | typeof ABORTED> {
  promise.catch(() => undefined)
  if (signal.aborted) return ABORTED
  let stop: () => void = () => undefined
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    stop = () => resolve(ABORTED)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    // A long-lived signal would otherwise collect one listener per promise.
    signal.removeEventListener('abort', stop)
  }
}
