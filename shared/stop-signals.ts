/** npm and the terminal both pass on one Ctrl-C: within this time a repeated signal counts as the first. */
const SAME_REQUEST_MS = 500

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/**
 * Calls `stop` at the first request to leave, and `leave` if the same one comes again. A different one does not count:
 * it may be the supervisor's, after a Ctrl-C that both got. Returns a function that makes a request without a signal.
 */
export function onStopSignals(
  signals: StopSignal[],
  stop: (reason: string) => void,
  leave: () => void,
): (reason: string) => void {
  const askedAtMs = new Map<string, number>()
  const request = (reason: string): void => {
    const nowMs = performance.now()
    const firstAtMs = askedAtMs.get(reason)
    if (firstAtMs !== undefined) {
      if (nowMs - firstAtMs > SAME_REQUEST_MS) leave()
      return
    }
    askedAtMs.set(reason, nowMs)
    if (askedAtMs.size === 1) stop(reason)
  }
  for (const signal of signals) process.on(signal, () => request(signal))
  return request
}
