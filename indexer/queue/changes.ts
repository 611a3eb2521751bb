/** Lets those wait who need something to be so that others change. */
export class Changes {
  readonly #waiting = new Set<() => void>()

  /** To be called after each change. */
  notify(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  /** Resolves once it is so, or `signal` is aborted. */
  async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isSo() && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        this.#waiting.add(wake)
        signal.addEventListener('abort', wake, { once: true })
      })
    }
  }
}
