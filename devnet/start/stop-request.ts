/** npm and the terminal both pass on the same Ctrl-C: within this time it is still the first. */
const SAME_REQUEST_MS = 500
const PARENT_CHECK_MS = 1000

/**
 * Aborts when this program is asked to leave: by Ctrl-C, SIGTERM, a closed terminal, or because the npm that ran it
 * is gone without a word. `onSecond` is called when it is asked again.
 */
export function stopRequest(onSecond: () => void): AbortSignal {
  const stopping = new AbortController()
  let firstAt: number | undefined
  const request = (reason: string): void => {
    const now = performance.now()
    firstAt ??= now
    if (now - firstAt > SAME_REQUEST_MS) onSecond()
    stopping.abort(reason)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => request(signal))
  if (process.env['npm_lifecycle_event'] !== undefined) watchParent(() => stopping.abort('npm is gone'))
  return stopping.signal
}

/** npm that is killed cannot pass that on; what it started then belongs to another parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onGone()
  }, PARENT_CHECK_MS)
  timer.unref()
}
