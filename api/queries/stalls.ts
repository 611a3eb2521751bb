const LOOK_EVERY_MS = 100
/** Later than this is no jitter. */
const STALL_MS = 400

export interface StallWatch {
  /** When the last stall ended, milliseconds of the monotonic clock; -Infinity before the first. */
  readonly lastEndedMs: number
  stop: () => void
}

/**
 * Notices when this process did not run: it was frozen, or got no processor. Time-outs that end then tell nothing of
 * those whom they waited for: their answers may lie unread. It does not keep the process alive.
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
