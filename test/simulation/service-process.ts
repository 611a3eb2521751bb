import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { scriptFlags } from '../helpers/script-flags.ts'
import { serviceProgram } from '../helpers/service-program.ts'
import type { Span } from './check-history.ts'
import { untilListens } from './until-listens.ts'
import type { WallClock } from './wall-clock.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The TypeScript files of the service's programs, without their ending. */
export const PROGRAMS = ['indexer/main', 'api/main'] as const
type Program = (typeof PROGRAMS)[number]
const RESTART_MS = 300
const UP_WITHIN_MS = 30_000
const CONFIGURATION = 2

export interface ServiceProgram {
  name: string
  kind: 'indexer' | 'API'
  program: Program
  /** Whether it runs as `npm run build` has compiled it, which starts in half the time; under `npm test` it does anyway. */
  isBuilt: boolean
  environment: NodeJS.ProcessEnv
  /** On which it listens once it is up. */
  port: number
  /** Its own, where clocks can step. */
  clock: WallClock | undefined
}

/** A program of the service, started again whenever it ends, as a supervisor does. */
export class ServiceProcess {
  readonly name: string
  readonly kind: ServiceProgram['kind']
  readonly clock: WallClock | undefined
  /** What went wrong that no supervisor can mend, and what it said last. */
  readonly complaints: string[] = []
  /** Starts; exits that nobody here caused. */
  starts = 0
  ownExits = 0
  /** When it did not listen, or was frozen; ms since the epoch. */
  readonly away: Span[] = []
  readonly #program: ServiceProgram
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #wanted = false
  #output = ''
  /** A process that is frozen does not see that we are gone. */
  readonly #killAtExit = (): void => void this.#child?.kill('SIGKILL')

  constructor(program: ServiceProgram) {
    this.name = program.name
    this.kind = program.kind
    this.clock = program.clock
    this.#program = program
  }

  /** What it said, the newest 200,000 characters. */
  get output(): string {
    return this.#output
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    const child = this.#child
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined
  }

  start(): void {
    this.#wanted = true
    process.once('exit', this.#killAtExit)
    this.#goesAway()
    this.#launch()
  }

  /** Resolves when it listens. */
  async untilUp(): Promise<void> {
    await untilListens(this.#program.port, () => this.#wanted)
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  freeze(): void {
    this.#goesAway()
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
    void this.#comesBack()
  }

  /** Asks it to leave, once it listens; answers how it did. Killed after 20 s. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    // Who is asked while its modules are being read dies of the signal, having begun nothing.
    await Promise.race([this.untilUp(), sleep(UP_WITHIN_MS, undefined, { ref: false })])
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
    const { kind, program, isBuilt, environment, clock } = this.#program
    const { path, flags } = isBuilt
      ? { path: builtProgram(program), flags: ['--no-warnings'] }
      : serviceProgram(program)
    const child = fork(path, {
      cwd: ROOT,
      env: { ...environment, ...clock?.environment },
      execArgv: [...flags, ...scriptFlags(kind.toLowerCase())],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-200_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.once('exit', (code) => this.#ended(code))
    this.#child = child
    void this.#comesBack()
  }

  #goesAway(): void {
    if (this.away.at(-1)?.to !== Infinity) this.away.push({ from: Date.now(), to: Infinity })
  }

  /** Once it listens: whoever was started again in between is waited for by a call of its own. */
  async #comesBack(): Promise<void> {
    const child = this.#child
    const isUp = await untilListens(this.#program.port, () => child === this.#child && this.pid !== undefined)
    const span = this.away.at(-1)
    if (isUp && span?.to === Infinity) span.to = Date.now()
  }

  #ended(code: number | null): void {
    if (!this.#wanted) return
    this.#goesAway()
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

/** Where `npm run build` puts it. */
export function builtProgram(program: Program): string {
  return `${ROOT}dist/${program}.js`
}
