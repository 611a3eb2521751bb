const LOOK_EVERY_MS = 100
/** A timer this late is more than jitter. */
const STALL_MS = 400

export interface StallWatch {
  /** End of the last stall in milliseconds of the monotonic clock; -Infinity before the first. */
  readonly lastEndedMs: number
  stop: () => void
}

/**
 * Notices when this process did not run because it was frozen or got no processor. Time-outs that end then prove
 * nothing, because answers may be waiting unread. The watch does not keep the process alive.
 */
export function watchForStalls(): StallWatch {
  let lookedAtMs = performance.now()
  const watch = { lastEndedMs: -Infinity, stop: () => clearInterval(timer) }
  const timer = setInterval(() => {
    const nowMs = performance.now()
    if (nowMs - lookedAtMs > LOOK_EVERY_MS + STALL_MS) watch.lastEndedMs = nowMs
    lookedAtMs = nowMs
  }, LOOK_EVERY_MS).unref()
  return watch
}
