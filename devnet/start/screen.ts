/** What the terminal shows: plain lines, and below them, on a terminal, one that is rewritten. */
export class Screen {
  readonly #terminal = process.stdout.isTTY
  #live = ''

  constructor() {
    // The terminal may go away before we do: then there is nobody to tell.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  }

  /** Whether there is a line that can be rewritten. */
  get isTerminal(): boolean {
    return this.#terminal
  }

  /** Characters of the live line; one less than the terminal has, which would wrap. Without a terminal unlimited. */
  get width(): number {
    return this.#terminal ? (process.stdout.columns || 80) - 1 : Infinity
  }

  line(text: string): void {
    this.#write(`${this.#erase()}${text}\n${this.#live}`)
  }

  /** The live line on a terminal; without one nothing is shown. */
  live(text: string): void {
    if (!this.#terminal) return
    const erase = this.#erase()
    this.#live = text.slice(0, this.width)
    this.#write(erase + this.#live)
  }

  /** Leaves the last live line where it is. */
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
