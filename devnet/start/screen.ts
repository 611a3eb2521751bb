/** The terminal's content: plain lines, and on a real terminal one rewritten line below them. */
export class Screen {
  readonly #terminal = process.stdout.isTTY
  #live = ''

  constructor() {
    // The terminal may close before this program ends; write errors are ignored.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  }

  /** True when the output has a line that can be rewritten. */
  get isTerminal(): boolean {
    return this.#terminal
  }

  /**
   * Characters of the live line: one less than the terminal's width, which would wrap. Unlimited without a terminal.
   */
  get width(): number {
    return this.#terminal ? (process.stdout.columns || 80) - 1 : Infinity
  }

  line(text: string): void {
    this.#write(`${this.#erase()}${text}\n${this.#live}`)
  }

  /** Rewrites the live line on a terminal; does nothing without one. */
  live(text: string): void {
    if (!this.#terminal) return
    const erase = this.#erase()
    this.#live = text.slice(0, this.width)
    this.#write(erase + this.#live)
  }

  /** Keeps the last live line on the screen. */
  endLive(): void {
    if (this.#live !== '') this.#write('\n')
    this.#live = ''
  }

  #erase(): string {
    return this.#live === '' ? '' : '\r\x1b[2K'
  }

  #write(text: string): void {
    if (process.stdout.writable) process.stdout.write(text)
  }
}
