import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RESTART_MS = 300
const CONFIGURATION = 2

/** A program of the service, started again whenever it ends, as a supervisor does. */
export class ServiceProcess {
  readonly name: string
  /** What went wrong that no supervisor can mend, and what it said last. */
  readonly complaints: string[] = []
  /** Starts; exits that nobody here caused. */
  starts = 0
  ownExits = 0
  readonly #program: string
  readonly #environment: NodeJS.ProcessEnv
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #wanted = false
  #output = ''
  readonly #killAtExit = (): void => void this.#child?.kill('SIGKILL')

  constructor(name: string, program: string, environment: NodeJS.ProcessEnv) {
    this.name = name
    this.#program = program
    this.#environment = environment
    // A process that is frozen does not see that we are gone.
    process.once('exit', this.#killAtExit)
  }

  /** What it said, the newest 200,000 characters. */
  get output(): string {
    return this.#output
  }

  start(): void {
    this.#wanted = true
    this.#launch()
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Asks it to leave; answers how it did. Killed after 20 s. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    this.#wanted = false
    process.off('exit', this.#killAtExit)
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null
    const exited = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null]
    clearTimeout(timer)
    return code ?? signal
  }

  #launch(): void {
    this.starts += 1
    const child = fork(`${ROOT}/${this.#program}`, {
      cwd: ROOT,
      env: this.#environment,
      execArgv: ['--import=tsx', '--no-warnings', '--enable-source-maps'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-200_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.once('exit', (code) => this.#ended(code))
    this.#child = child
  }

  #ended(code: number | null): void {
    if (!this.#wanted) return
    if (code !== null) this.ownExits += 1
    if (code === CONFIGURATION) {
      this.complaints.push(`${this.name} gave up with exit code 2: ${lastLine(this.#output)}`)
    }
    this.#timer = setTimeout(() => this.#launch(), RESTART_MS)
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}
