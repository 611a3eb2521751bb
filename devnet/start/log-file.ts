import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'

const MAX_BYTES = 8 * 1024 * 1024

/** Appends lines to a file. A full file becomes `<file>.1`, which replaces the one before. */
export class LogFile {
  readonly #path: string
  #descriptor: number
  #bytes: number

  constructor(path: string) {
    this.#path = path
    this.#descriptor = openSync(path, 'a')
    this.#bytes = fstatSync(this.#descriptor).size
  }

  write(line: string): void {
    if (this.#bytes > MAX_BYTES) this.#rotate()
    this.#bytes += writeSync(this.#descriptor, `${line}\n`)
  }

  #rotate(): void {
    closeSync(this.#descriptor)
    renameSync(this.#path, `${this.#path}.1`)
    this.#descriptor = openSync(this.#path, 'a')
    this.#bytes = 0
  }
}
