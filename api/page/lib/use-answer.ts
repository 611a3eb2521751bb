import { useEffect, useState } from 'preact/hooks'
import { ask, Failure, type Call } from './api.ts'

export interface Asked<T> {
  /** The last answer, kept while later questions fail. */
  data: T | undefined
  /** Why the last question failed; undefined once one succeeds. */
  failure: Failure | undefined
  /** Asks at once. */
  retry: () => void
}

interface Change<T> {
  data?: T
  failure?: Failure | undefined
}

/** Milliseconds between tries while the API fails. */
const RETRY_MS = [1000, 2000, 4000, 8000, 15_000]

/**
 * Asks the API and, with `everyMs`, again and again while the page is visible. The browser sends ETags by itself; an
 * unchanged answer renders nothing. Another `key` is another question and forgets the last answer.
 */
export function useAnswer<T>(key: string, call: Call<T>, everyMs?: number): Asked<T> {
  const [state, setState] = useState<{ key: string } & Change<T>>({ key })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const stopped = new AbortController()
    void follow(call, everyMs, stopped.signal, (change) =>
      setState((before) => ({ ...(before.key === key ? before : {}), key, ...change })),
    )
    return () => stopped.abort()
  }, [key, tries])
  const { data, failure }: Change<T> = state.key === key ? state : {}
  return { data, failure, retry: () => setTries((count) => count + 1) }
}

async function follow<T>(
  call: Call<T>,
  everyMs: number | undefined,
  stop: AbortSignal,
  tell: (change: Change<T>) => void,
): Promise<void> {
  let etag: string | null = null
  let hasFailed = false
  for (let failures = 0; !stop.aborted;) {
    try {
      const answer = await ask(call, stop)
      if (answer.etag === null || answer.etag !== etag || hasFailed)
        tell({ data: answer.data, failure: undefined })
      etag = answer.etag
      hasFailed = false
      failures = 0
      if (everyMs === undefined) return
      await pause(everyMs, stop)
    } catch (error) {
      if (isOver(stop)) return
      const failure = error instanceof Failure ? error : new Failure('broken', 'The page failed.')
      hasFailed = true
      tell({ failure })
      // Asking a wrong question again cannot help; something missing may still come.
      if (failure.kind === 'refused' || (failure.kind === 'missing' && everyMs === undefined)) return
      await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 1000, stop)
      failures += 1
    }
  }
}

/** Works around TypeScript's narrowing of `signal.aborted`. */
function isOver(stop: AbortSignal): boolean {
  return stop.aborted
}

/** Waits for this time, and then until the page is visible. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  let timer: ReturnType<typeof setTimeout> | undefined
  await new Promise<void>((resolve) => {
    const end = (): void => resolve()
    stop.addEventListener('abort', end, { signal })
    timer = setTimeout(() => {
      if (document.hidden) document.addEventListener('visibilitychange', end, { signal })
      else resolve()
    }, ms)
  })
  clearTimeout(timer)
  // The signal outlives the pause, and would keep a listener of each.
  over.abort()
}
