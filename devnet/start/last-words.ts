const TRAILER = /^Node\.js v\d/
const STACK_FRAME = /^\s+at /
/** Start of an uncaught error as Node prints it; its nested errors are indented and do not match. */
const ERROR = /^(?:FATAL ERROR:|(?:Uncaught )?[\w.$]*(?:Error|Exception)\b)/

/** A program's standard error before its end: a crash prints many lines, and one of them gives the reason. */
export class LastWords {
  readonly #name: string
  #own: string | undefined
  #error: string | undefined
  #other: string | undefined

  constructor(name: string) {
    this.#name = name
  }

  add(line: string): void {
    if (line.trim() === '' || TRAILER.test(line) || STACK_FRAME.test(line)) return
    if (line.startsWith(`${this.#name}: `)) this.#own = line
    else if (ERROR.test(line)) this.#error = line
    else this.#other = line
  }

  /** One line that begins with the program's name: an uncaught error, else its own message, else the last line. */
  get line(): string | undefined {
    const words = this.#error ?? this.#own ?? this.#other
    return words === undefined || words === this.#own ? words : `${this.#name}: ${words.trim()}`
  }
}
