import { pause } from './pause.ts'

/** A flag that one side raises and one other side awaits. Raising it twice before the wait counts once. */
export class Wakeup {
  #raised = new AbortController()

  raise(): void {
    this.#raised.abort()
  }

  /** Resolves once raised, after `ms` milliseconds or when the signal is aborted; lowers the flag. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const stop = (): void => this.raise()
    // AbortSignal.any would leak: on Node 20 a long-lived signal retains each combination.
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    await pause(ms, this.#raised.signal)
    signal.removeEventListener('abort', stop)
    this.#raised = new AbortController()
  }
}
