import { EventEmitter, once } from 'node:events'

/** Wakes those who wait for a condition whenever something changes that it may depend on. */
export class Changes {
  readonly #emitter = new EventEmitter().setMaxListeners(0)

  /** Must be called after each change. */
  notify(): void {
    this.#emitter.emit('change')
  }

  /** Resolves once the condition holds, or `signal` is aborted. */
  async until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    while (!holds() && !signal.aborted) {
      await once(this.#emitter, 'change', { signal }).catch(() => undefined)
    }
  }
}
