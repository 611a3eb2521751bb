import { onStopSignals } from '../../shared/stop-signals.ts'

const PARENT_CHECK_MS = 1000

/**
 * Aborts when this program must stop: after Ctrl-C, SIGTERM, a closed terminal, or the silent death of the npm that ran
 * it. A second request calls `onSecond`.
 */
export function stopRequest(onSecond: () => void): AbortSignal {
  const stopping = new AbortController()
  onStopSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (reason) => stopping.abort(reason), onSecond)
  if (process.env['npm_lifecycle_event'] !== undefined) watchParent(() => stopping.abort('npm is gone'))
  return stopping.signal
}

/** A killed npm cannot pass the signal on; its child then has another parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onGone()
  }, PARENT_CHECK_MS)
  timer.unref()
}
