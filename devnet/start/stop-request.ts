import { onStopSignals } from '../../shared/stop-signals.ts'

const PARENT_CHECK_MS = 1000

/**
 * Aborts when this program is asked to leave: by Ctrl-C, SIGTERM, a closed terminal, or because the npm that ran it
 * is gone without a word. `onSecond` is called when it is asked again.
 */
export function stopRequest(onSecond: () => void): AbortSignal {
  const stopping = new AbortController()
  onStopSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (reason) => stopping.abort(reason), onSecond)
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
