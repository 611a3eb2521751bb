/** Resolves once `signal` is aborted, at once where it is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

export const ABORTED = Symbol('aborted')

/** What the promise gives, or {@link ABORTED} as soon as the signal is; a later rejection is nobody's. */
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
    signal.removeEventListener('abort', stop)
  }
}
