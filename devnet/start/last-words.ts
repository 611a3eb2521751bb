const TRAILER = /^Node\.js v\d/
const STACK_FRAME = /^\s+at /
/** Where an error begins, as Node prints one that nobody caught; what it is made of stands further in. */
const ERROR = /^(?:FATAL ERROR:|(?:Uncaught )?[\w.$]*(?:Error|Exception)\b)/

/** What a program wrote on standard error before it ended: a crash says much, and one line of it says why. */
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

  /** One line, led by the program's name: an error that nobody caught, its own message, or else the last one. */
  get line(): string | undefined {
    const words = this.#error ?? this.#own ?? this.#other
    return words === undefined || words === this.#own ? words : `${this.#name}: ${words.trim()}`
  }
}
